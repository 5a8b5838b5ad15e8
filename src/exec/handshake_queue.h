// Which of the TLS handshakes that wait begins next: the addresses of the clients take turns, and
// none has more than its share under way, so that clients who stall hold up only their own address.
//
// Flow: Put -> Take -> End; or Put -> Drop.
// Threads: one owner at a time (the handshake thread).
// Limits: kHandshakesMax are under way in all, kHandshakesOfAddressMax of an address.
// Errors: Put throws std::bad_alloc and has then changed nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "exec/client.h"
#include "exec/login_sources.h"

namespace rowsocket::exec {

class HandshakeQueue {
 public:
  /// Lets the client wait for its turn.
  void Put(const LoginSource& address, Client* client);
  /// The next client, which counts as under way until End. Null: no client waits, or none may begin
  /// now.
  Client* Take();
  /// Forgets a client that has gone while it waited.
  void Drop(const LoginSource& address, Client* client);
  /// Makes room for the next client, when one that was taken has ended its handshake, or has gone.
  void End(const LoginSource& address);

 private:
  struct AddressQueue {
    LoginSource address;
    std::deque<Client*> waiting;
    uint32_t under_way = 0;
    AddressQueue* next = nullptr;  ///< In the list of addresses that may begin a handshake.
    bool is_listed = false;
  };

  void List(AddressQueue& queue);
  void Forget(AddressQueue& queue);

  std::unordered_map<LoginSource, AddressQueue, LoginSource::Hash> queues_;
  AddressQueue* first_ = nullptr;
  AddressQueue* last_ = nullptr;
  uint32_t under_way_ = 0;
};

}  // namespace rowsocket::exec
