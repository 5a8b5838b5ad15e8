// How connections come to a worker, and how they go.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "exec/worker_client.h"

namespace rowsocket::exec {

namespace {

constexpr unsigned kAcceptsPerEventMax = 64;
/// How long a listener rests when the process has no file descriptor left.
constexpr int64_t kAcceptPauseMs = 100;
/// How often the log says that connections are refused or lost.
constexpr int64_t kLogMs = 60'000;

}  // namespace

std::string WhyNotWatched(int error) {
  return error == ENOSPC ? "the user's limit of watched descriptors is reached; raise "
                           "fs.epoll.max_user_watches (sysctl)"
                         : std::string("cannot watch a socket: ") + strerror(error);
}

void Worker::Listen() {
  for (net::Listener& each : *context_.listeners) {
    if (!loop_.AddShared(each.fd(), &each)) return PauseAccepting(WhyNotWatched(errno).c_str());
  }
}

void Worker::Accept(net::Listener& listener) {
  using Status = net::Listener::AcceptStatus;
  for (unsigned i = 0; i < kAcceptsPerEventMax; ++i) {
    net::Listener::Accepted accepted = listener.Accept();
    if (accepted.status == Status::kTransient) continue;
    if (accepted.status == Status::kNone) return;
    if (accepted.status != Status::kAccepted) {
      PauseAccepting(accepted.status == Status::kOutOfFds
                         ? "no file descriptor left; raise open_files_limit"
                         : strerror(accepted.error));
      return;
    }
    // The kernel gives the lowest number that is free.
    if (accepted.fd.get() >= context_.limits.descriptors_max) {
      Refuse("all of the file descriptors for connections are in use; raise open_files_limit");
    } else if (context_.assign(std::move(accepted.fd))) {
      stats_->Add(Stat::kConnectionsAccepted);
    } else {
      Refuse((context_.connections_variable + " are open").c_str());
    }
  }
}

// The listeners stay readable: watching them would only spin until there is room again.
void Worker::PauseAccepting(const char* why) {
  Refuse(why);
  if (!accepts_) return;
  for (net::Listener& each : *context_.listeners) loop_.Remove(each.fd());
  accepts_ = false;
  accept_again_ms_ = base::CoarseNowMs() + kAcceptPauseMs;
}

void Worker::Refuse(const char* why) {
  stats_->Add(Stat::kConnectionsRefused);
  if (MayLog()) context_.log(std::string("cannot accept connections: ") + why);
}

void Worker::Lose(Client& client, Loss loss) {
  Retire(client);
  stats_->Add(Stat::kConnectionsLost);
  if (MayLog()) context_.log(WhyLost(loss));
}

std::string Worker::WhyLost(Loss loss) const {
  if (loss == Loss::kMemory) {
    return "out of memory: connections are closed; give the server more, or lower the limits of "
           "their number and of the bytes of a request";
  }
  if (loss == Loss::kBuffers) {
    return "replies that clients do not take, and requests that do not end, hold more memory "
           "than " +
           context_.memory_variable + " allows: connections with a large part in it are closed";
  }
  return "a commit was decided and could not be ended (KILL or shutdown while it waited for a "
         "replica, or a binary log that cannot go on): whether it stays is not known, and its "
         "connections are closed";
}

bool Worker::MayLog() {
  const int64_t now_ms = base::CoarseNowMs();
  if (now_ms - logged_ms_ < kLogMs) return false;
  logged_ms_ = now_ms;
  return true;
}

void Worker::AddClient(net::UniqueFd fd) {
  auto client =
      std::make_unique<Client>(std::move(fd), connection_context_, context_.make_frontend());
  client->turn.frontend = client->frontend.get();
  client->turn.out_bytes_max = context_.limits.buffered_bytes_max;
  if (!client->connection.UpdateInterest(loop_, client.get())) {
    Refuse(WhyNotWatched(errno).c_str());
    connections_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  stats_->Add(Stat::kConnections);
  unauthenticated_.Insert(*client, now_ms_);
  Touch(*client);
  Remember(std::move(client));
}

void Worker::Remember(std::unique_ptr<Client> client) {
  client->place = clients_.size();
  clients_.push_back(client.release());
}

void Worker::Forget(Client& client) {
  clients_[client.place] = clients_.back();
  clients_[client.place]->place = client.place;
  clients_.pop_back();
  connections_.fetch_sub(1, std::memory_order_relaxed);
}

// Until it has authenticated, a connection has a deadline that nothing it does puts off.
void Worker::Touch(Client& client) {
  if (unauthenticated_.timeout_ms() != 0 && !client.frontend->authenticated()) return;
  idle_.Touch(client, now_ms_);
}

void Worker::Retire(Client& client) {
  if (client.retired) return;
  client.retired = true;
  if (client.waits && context_.lane->Cancel(*client.job)) client.waits = false;
  if (client.in_batch)
    std::erase_if(held_, [&](const auto& each) { return each.second == &client; });
  client.Unlink();
  loop_.Remove(client.connection.fd());
  Forget(client);
  stats_->Subtract(Stat::kConnections);
  retired_.push_back(&client);
}

// `polled_ms`: when sockets were looked at. What came while this thread was in a turn is no
// silence.
void Worker::CloseExpired(int64_t polled_ms) {
  for (net::IdleList<Client>* list : {&idle_, &unauthenticated_}) {
    while (Client* client = list->Expired(polled_ms)) {
      const bool has_asked = list == &idle_ && client->is_ready;
      // A lock wait has a timeout of its own, a batch comes to its end.
      if (client->is_away() || has_asked) {
        list->Insert(*client, now_ms_);
        continue;
      }
      stats_->Add(Stat::kConnectionsTimedOut);
      Retire(*client);
    }
  }
}

void Worker::CloseAll() {
  await_batch_.clear();
  held_.clear();
  while (!clients_.empty()) Retire(*clients_.back());
  FreeRetired();
}

// A lane that has begun with the request of a connection still reads what it asked for.
void Worker::FreeRetired() {
  if (retired_.empty()) return;
  std::erase_if(ready_, [](const Client* client) { return client->retired; });
  for (Client* client : retired_) {
    if (client->waits)
      orphans_.push_back(client);
    else
      delete client;
  }
  retired_.clear();
}

}  // namespace rowsocket::exec
