#include "exec/handshake_queue.h"

#include <algorithm>

#include "model/limits.h"

namespace rowsocket::exec {

void HandshakeQueue::Put(const LoginSource& address, Client* client) {
  AddressQueue& queue = queues_[address];
  queue.address = address;
  try {
    queue.waiting.push_back(client);
  } catch (...) {
    Forget(queue);
    throw;
  }
  List(queue);
}

Client* HandshakeQueue::Take() {
  if (first_ == nullptr || under_way_ == model::kHandshakesMax) return nullptr;
  AddressQueue& queue = *first_;
  first_ = queue.next;
  if (first_ == nullptr) last_ = nullptr;
  queue.is_listed = false;
  Client* const client = queue.waiting.front();
  queue.waiting.pop_front();
  ++queue.under_way;
  ++under_way_;
  List(queue);
  return client;
}

// Searches the list of all addresses that wait, which is fast enough because dropped clients are
// few.
void HandshakeQueue::Drop(const LoginSource& address, Client* client) {
  AddressQueue& queue = queues_.at(address);
  std::erase(queue.waiting, client);
  if (!queue.waiting.empty() || !queue.is_listed) return;
  AddressQueue** place = &first_;
  AddressQueue* before = nullptr;
  while (*place != &queue) {
    before = *place;
    place = &before->next;
  }
  *place = queue.next;
  if (last_ == &queue) last_ = before;
  queue.is_listed = false;
  Forget(queue);
}

void HandshakeQueue::End(const LoginSource& address) {
  AddressQueue& queue = queues_.at(address);
  --queue.under_way;
  --under_way_;
  List(queue);
  Forget(queue);
}

void HandshakeQueue::List(AddressQueue& queue) {
  if (queue.is_listed || queue.waiting.empty()) return;
  if (queue.under_way == model::kHandshakesOfAddressMax) return;
  queue.is_listed = true;
  queue.next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &queue;
  last_ = &queue;
}

void HandshakeQueue::Forget(AddressQueue& queue) {
  if (!queue.waiting.empty() || queue.under_way != 0) return;
  const LoginSource address = queue.address;
  queues_.erase(address);
}

}  // namespace rowsocket::exec
