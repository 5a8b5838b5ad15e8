#include "exec/handshake_queue.h"

#include <algorithm>

#include "model/limits.h"

namespace rowsocket::exec {

void HandshakeQueue::Put(const LoginSource& address, Client* client) {
  Line& line = lines_[address];
  line.address = address;
  try {
    line.waiting.push_back(client);
  } catch (...) {
    Forget(line);
    throw;
  }
  List(line);
}

Client* HandshakeQueue::Take() {
  if (first_ == nullptr || under_way_ == model::kHandshakesMax) return nullptr;
  Line& line = *first_;
  first_ = line.next;
  if (first_ == nullptr) last_ = nullptr;
  line.is_listed = false;
  Client* const client = line.waiting.front();
  line.waiting.pop_front();
  ++line.under_way;
  ++under_way_;
  List(line);
  return client;
}

// Searches the list, which has as many members as addresses wait: dropped clients are few.
void HandshakeQueue::Drop(const LoginSource& address, Client* client) {
  Line& line = lines_.at(address);
  std::erase(line.waiting, client);
  if (!line.waiting.empty() || !line.is_listed) return;
  Line** place = &first_;
  Line* before = nullptr;
  while (*place != &line) {
    before = *place;
    place = &before->next;
  }
  *place = line.next;
  if (last_ == &line) last_ = before;
  line.is_listed = false;
  Forget(line);
}

void HandshakeQueue::End(const LoginSource& address) {
  Line& line = lines_.at(address);
  --line.under_way;
  --under_way_;
  List(line);
  Forget(line);
}

void HandshakeQueue::List(Line& line) {
  if (line.is_listed || line.waiting.empty()) return;
  if (line.under_way == model::kHandshakesOfAddressMax) return;
  line.is_listed = true;
  line.next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &line;
  last_ = &line;
}

void HandshakeQueue::Forget(Line& line) {
  if (!line.waiting.empty() || line.under_way != 0) return;
  const LoginSource address = line.address;
  lines_.erase(address);
}

}  // namespace rowsocket::exec
