// How connections move from one worker to another.
//
// A connection moves when it has sent something and before that has been received: nothing of it is
// under way then, so its requests stay in their order.
#include "exec/worker_client.h"

namespace rowsocket::exec {

namespace {

constexpr uint32_t kAll = UINT32_MAX;

}  // namespace

// Orders come seldom, and one that crosses another is repaired by the next.
void Worker::GiveAway(Worker* target, uint32_t count) {
  give_to_.store(target, std::memory_order_relaxed);
  give_.store(count, std::memory_order_release);
}

// Its deadline to authenticate goes on where it began.
bool Worker::MayMove(const Client& client) const {
  return !client.is_ready && !client.is_away() && !client.has_more && !client.retired &&
         (unauthenticated_.timeout_ms() == 0 || client.frontend->authenticated());
}

bool Worker::GiveIfAsked(Client& client) {
  const uint32_t count = give_.load(std::memory_order_acquire);
  if (count == 0 || !MayMove(client)) return false;
  Worker* const target = give_to_.load(std::memory_order_relaxed);
  if (target == nullptr || target == this) return false;
  if (count != kAll) give_.store(count - 1, std::memory_order_relaxed);
  client.connection.Suspend(loop_);
  client.Unlink();
  // Counted there before it is no more here, so that the limit of connections holds meanwhile.
  target->connections_.fetch_add(1, std::memory_order_relaxed);
  Forget(client);
  stats_->Add(Stat::kConnectionsMoved);
  client.connection.MoveTo(target->connection_context_);
  target->TakeOver(std::unique_ptr<Client>(&client));
  return true;
}

void Worker::TakeOver(std::unique_ptr<Client> client) {
  {
    const std::lock_guard lock(inbox_mutex_);
    inbox_clients_.push_back(std::move(client));
  }
  loop_.Wake();
}

void Worker::AddMoved(std::unique_ptr<Client> moved) {
  Client& client = *moved;
  Remember(std::move(moved));
  Touch(client);
  if (!client.connection.UpdateInterest(loop_, &client)) {
    Refuse(WhyNotWatched(errno).c_str());
    Retire(client);
    return;
  }
  client.can_receive = true;
  MarkReady(client);
}

// Who is active is what the crew divides among the workers.
void Worker::CountActive(Client& client) {
  const uint32_t period = context_.crew->period();
  if (client.active_in == period) return;
  client.active_in = period;
  const uint64_t before = load_.active.load(std::memory_order_relaxed);
  const uint64_t count = before >> 32 == period ? (before & UINT32_MAX) + 1 : 1;
  load_.active.store(uint64_t{period} << 32 | count, std::memory_order_relaxed);
}

void Worker::CountRequests(size_t requests) {
  load_.requests.store(load_.requests.load(std::memory_order_relaxed) + requests,
                       std::memory_order_relaxed);
}

}  // namespace rowsocket::exec
