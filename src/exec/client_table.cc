#include "exec/client_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.h"
#include "exec/address_text.h"

namespace rowsocket::exec {

namespace {

/// How often the log says that connections are refused or lost.
constexpr int64_t kLogMs = 60'000;
/// Clients for which there is room at first.
constexpr size_t kRoomMin = 64;

/// Why the event loop cannot watch a socket, for the log: what `error` means, and what helps.
std::string WhyNotWatched(int error) {
  return error == ENOSPC ? "the user's limit of watched descriptors is reached; raise "
                           "fs.epoll.max_user_watches (sysctl)"
                         : std::string("cannot watch a socket: ") + strerror(error);
}

}  // namespace

ClientTable::ClientTable(WorkerCore& core, HeldReplies& held) : core_(core), held_(held) {
  const model::Limits& limits = core_.settings.limits;
  connection_context_.buffered_bytes_max = limits.buffered_bytes_max;
  connection_context_.budget = core_.context.budget;
  idle_.SetTimeout(int64_t{limits.idle_timeout_s} * 1000);
  unauthenticated_.SetTimeout(int64_t{limits.auth_timeout_s} * 1000);
}

ClientTable::~ClientTable() {
  for (Client* client : orphans_) delete client;
}

void ClientTable::Add(net::UniqueFd fd) {
  std::unique_ptr<Client> client;
  try {
    MakeRoom();
    client =
        std::make_unique<Client>(std::move(fd), connection_context_, core_.context.make_frontend());
    client->booked.Enter(client->connection.fd(), core_.settings.plugin, core_.settings.mode);
    client->frontend->SetConnectionId(client->booked.id());
  } catch (const std::bad_alloc&) {
    CountGone();
    return CountRefused(Refusal::kMemory);
  }
  client->turn.frontend = client->frontend.get();
  client->turn.out_bytes_max = core_.settings.limits.buffered_bytes_max;
  if (core_.context.handshake_thread != nullptr && net::IsTcp(client->connection.fd()))
    client->life = Client::Life::kNew;
  if (!client->connection.UpdateInterest(core_.loop, client.get())) {
    CountRefused(Refusal::kNotWatched, errno);
    return CountGone();
  }
  core_.stats.Add(Stat::kConnections);
  core_.stats.Add(Stat::kConnectionsAccepted);
  client->connected_ms = core_.clock.now_ms;
  unauthenticated_.Insert(*client, core_.clock.now_ms);
  Touch(*client);
  Remember(std::move(client));
}

void ClientTable::AddMoved(std::unique_ptr<Client> moved) {
  Client& client = *moved;
  try {
    MakeRoom();
  } catch (const std::bad_alloc&) {
    return LoseMoved(client);
  }
  Remember(std::move(moved));
  if (client.connection.state() == net::Connection::State::kBroken) return Retire(client);
  // A client that comes from a handshake has no more time than one that needs none.
  if (has_deadline(client))
    unauthenticated_.InsertInOrder(client, client.connected_ms);
  else
    Touch(client);
  if (!client.connection.UpdateInterest(core_.loop, &client)) return LoseUnwatched(client, errno);
  client.can_receive = true;
  MarkReady(client);
}

// A connection that still has to authenticate does not move, so that its deadline stays where it
// began.
bool ClientTable::MayMove(const Client& client) const {
  return !client.is_ready && !client.is_away() && !client.has_more && !client.is_retired() &&
         !has_deadline(client);
}

std::unique_ptr<Client> ClientTable::Release(Client& client) {
  client.connection.Suspend(core_.loop);
  client.Unlink();
  Forget(client);
  return std::unique_ptr<Client>(&client);
}

// Reserves the memory that the turns and the end of a client need. No list has more clients than
// clients_; that one grows last, so that all others have at least as much room.
void ClientTable::MakeRoom() {
  const size_t size = clients_.size() + retired_.size() + orphans_.size();
  if (size < clients_.capacity()) return;
  const size_t room = std::max(kRoomMin, 2 * size);
  for (std::vector<Client*>* list : {&ready_, &in_turn_, &retired_, &orphans_, &clients_})
    list->reserve(room);
}

void ClientTable::LoseMoved(Client& client) {
  if (client.ticket != nullptr) core_.settings.login_desk->End(std::move(client.ticket));
  CountGone();
  core_.stats.Subtract(Stat::kConnections);
  core_.stats.Add(Stat::kConnectionsLost);
  LogLoss(Loss::kMemory);
}

void ClientTable::Remember(std::unique_ptr<Client> client) {
  client->table_index = clients_.size();
  clients_.push_back(client.release());
}

void ClientTable::Forget(Client& client) {
  clients_[client.table_index] = clients_.back();
  clients_[client.table_index]->table_index = client.table_index;
  clients_.pop_back();
  CountGone();
}

namespace {

const char* StateOf(const Client& client) {
  switch (client.away()) {
    case Away::kAwaitsBatch:
    case Away::kInBatch:
      return "batch";
    case Away::kHeld:
      return "held";
    case Away::kInLane:
    case Away::kHeldInLane:
      return "lock wait";
    case Away::kLoggingIn:
      return "login";
    case Away::kNo:
      break;
  }
  if (!client.connection.accepts_work()) return "unread replies";
  return client.is_ready || client.has_more ? "ready" : "idle";
}

}  // namespace

ConnectionInfo ClientTable::Describe(const Client& client, bool has_address) const {
  ConnectionInfo info;
  info.id = client.booked.id();
  info.name = client.frontend->name();
  info.state = StateOf(client);
  info.mode = core_.settings.mode;
  if (const model::Account* const account = client.frontend->account(); account != nullptr)
    info.account = account->user() + "@" + account->host();
  if (has_address) {
    const std::string address = ConnectionBook::Shared().AddressOf(info.id);
    info.address = HostOf(address);
    info.port = PortOf(address);
  }
  if (const net::TlsStream* const tls = client.connection.tls(); tls != nullptr) {
    info.tls_version = tls->version();
    info.tls_cipher = tls->cipher();
    info.tls_subject = tls->peer_subject();
  }
  // A connection may have come after this round's clock was read.
  info.age_ms = std::max<int64_t>(0, core_.clock.now_ms - client.connected_ms);
  info.idle_ms = std::max<int64_t>(0, core_.clock.now_ms - client.active_ms());
  info.requests = client.frontend->answers();
  info.errors = client.frontend->errors();
  info.buffered_bytes = client.connection.held_bytes();
  return info;
}

void ClientTable::CountActive(Client& client) {
  const uint32_t period = core_.context.worker_pool->period();
  if (client.active_in == period) return;
  client.active_in = period;
  core_.load.CountActive(period);
}

inline void ClientTable::SendReplies(Client& client) {
  const net::Connection::Sent sent = client.connection.Send();
  if (sent.bytes == 0) return;
  core_.stats.Add(Stat::kBytesSent, sent.bytes);
  Touch(client);
}

void ClientTable::Send(Client& client) {
  if (client.is_away()) [[unlikely]]
    return SendOfAway(client);
  SendReplies(client);
  using State = net::Connection::State;
  const bool asks = client.has_more || client.can_receive;
  if (asks && client.connection.accepts_work()) MarkReady(client);
  const bool has_work = client.is_ready || client.has_more;
  if (client.connection.state() == State::kBroken || (client.connection.finished() && !has_work)) {
    Retire(client);
    return;
  }
  if (!has_work) client.connection.ReleaseEmptyBuffers();
  if (!client.connection.CountBuffers(client.frontend->held_bytes()))
    return Lose(client, Loss::kBuffers);
  if (!client.connection.UpdateInterest(core_.loop, &client)) LoseUnwatched(client, errno);
}

// What a client in the lane holds was counted when its request went there (CountWait), and stays
// counted until it is back: a thread of the lane may be at work on the request, so that the memory
// of a client that is closed now would not be free.
void ClientTable::SendOfAway(Client& client) {
  if (!client.may_send()) return;
  SendReplies(client);
  if (client.connection.state() == net::Connection::State::kBroken) return Retire(client);
  if (!client.is_in_lane() && !client.connection.CountBuffers(client.frontend->held_bytes()))
    return Lose(client, Loss::kBuffers);
  if (!client.connection.UpdateInterest(core_.loop, &client)) LoseUnwatched(client, errno);
}

// Replies that may leave are sent first: they are not held then, and a client that is closed gets
// them.
bool ClientTable::CountWait(Client& client, size_t job_bytes) {
  if (!client.turn.may_see_undurable) SendReplies(client);
  return client.connection.CountBuffers(client.frontend->held_bytes() + job_bytes);
}

void ClientTable::ComeBack(Client& client) {
  if (client.can_receive) MarkReady(client);
  Send(client);
  if (!client.is_retired()) Touch(client);
}

void ClientTable::Retire(Client& client) {
  if (client.is_retired()) return;
  client.life = Client::Life::kRetired;
  client.WipeUnused();
  if (client.is_held()) held_.Drop(client);
  if (client.is_in_lane() && core_.context.lane->Cancel(*client.job)) client.SetAway(Away::kNo);
  if (client.away() == Away::kLoggingIn && core_.settings.login_desk->Cancel(&client))
    client.SetAway(Away::kNo);
  if (client.ticket != nullptr) core_.settings.login_desk->End(std::move(client.ticket));
  client.Unlink();
  core_.loop.Remove(client.connection.fd());
  Forget(client);
  core_.stats.Subtract(Stat::kConnections);
  retired_.push_back(&client);
}

void ClientTable::Lose(Client& client, Loss loss) {
  Retire(client);
  core_.stats.Add(Stat::kConnectionsLost);
  LogLoss(loss);
}

void ClientTable::LoseUnwatched(Client& client, int error) {
  Retire(client);
  core_.stats.Add(Stat::kConnectionsLost);
  Log(&unwatched_logged_ms_, [&] {
    return "connections are closed that can no longer be watched: " + WhyNotWatched(error);
  });
}

void ClientTable::CountRefused(Refusal why, int error) {
  core_.stats.Add(Stat::kConnectionsRefused);
  Log(&refusals_logged_ms_[static_cast<size_t>(why)],
      [&] { return "cannot accept connections: " + WhyRefused(why, error); });
}

void ClientTable::LogLoss(Loss loss) {
  Log(&losses_logged_ms_[static_cast<size_t>(loss)], [&] { return WhyLost(loss); });
}

std::string ClientTable::WhyLost(Loss loss) const {
  if (loss == Loss::kMemory) {
    return "out of memory: connections are closed; give the server more, or lower the limits of "
           "their number and of the bytes of a request";
  }
  if (loss == Loss::kBuffers) {
    return "unread replies, unfinished requests, lock waits and transactions hold more memory "
           "than " +
           core_.settings.memory_variable +
           " allows: connections that hold a large part of it are closed";
  }
  return "the outcome of a commit is unknown (KILL or shutdown while it waited for a replica, or a "
         "binary log that cannot go on): the connections that wait for it are closed";
}

std::string ClientTable::WhyRefused(Refusal refusal, int error) const {
  switch (refusal) {
    case Refusal::kConnectionsMax:
      return core_.settings.connections_variable + " are open";
    case Refusal::kMemory:
      return "out of memory";
    case Refusal::kNoDescriptor:
      return "no file descriptor left; raise open_files_limit";
    case Refusal::kNoMachineFile:
      return "all files that the machine may open are in use; raise fs.file-max";
    case Refusal::kDescriptorsMax:
      return "all of the file descriptors for connections are in use; raise open_files_limit";
    case Refusal::kNotAccepted:
      return strerror(error);
    case Refusal::kNotWatched:
      return WhyNotWatched(error);
  }
  return {};
}

// Many connections that are lost, or refused, for one reason share one line, which hides no line
// about another reason. If there is no memory for the line, only the line is lost.
template <typename MakeText>
void ClientTable::Log(std::optional<int64_t>* logged_ms, MakeText make) {
  const int64_t now_ms = base::CoarseNowMs();
  if (*logged_ms && now_ms - **logged_ms < kLogMs) return;
  *logged_ms = now_ms;
  try {
    core_.context.log(make());
  } catch (const std::bad_alloc&) {
  }
}

void ClientTable::CloseExpired(int64_t polled_ms) {
  for (net::IdleList<Client>* list : {&idle_, &unauthenticated_}) {
    while (Client* client = list->Expired(polled_ms)) {
      const bool has_asked = list == &idle_ && client->is_ready;
      // A lock wait has a timeout of its own, and a batch comes to its end; only a login needs this
      // timeout.
      if ((client->is_away() && client->away() != Away::kLoggingIn) || has_asked) {
        list->Insert(*client, core_.clock.now_ms);
        continue;
      }
      core_.stats.Add(Stat::kConnectionsTimedOut);
      Retire(*client);
    }
  }
}

void ClientTable::CloseAll() {
  while (!clients_.empty()) Retire(*clients_.back());
  FreeRetired();
}

// A thread of the lane that has begun with the request of a connection still reads the connection's
// frontend, so such a connection is freed when its job is back. Likewise, a login is checked with
// the connection's socket.
void ClientTable::FreeRetired() {
  if (retired_.empty()) return;
  std::erase_if(ready_, [](const Client* client) { return client->is_retired(); });
  for (Client* client : retired_) {
    if (client->is_elsewhere())
      orphans_.push_back(client);
    else
      delete client;
  }
  retired_.clear();
}

// A client that was retired in this round is still in retired_ and is freed with the others there.
void ClientTable::FreeOrphan(Client& client) {
  if (std::erase(orphans_, &client) != 0) delete &client;
}

}  // namespace rowsocket::exec
