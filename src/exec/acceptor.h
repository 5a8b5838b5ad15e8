// Takes new connections from the listeners of a port, on behalf of one of its workers.
//
// Flow: Listen -> the loop says that a listener is ready: Accept -> WorkerContext::assign
// Threads: the worker's.
// Errors: if there is no file descriptor or memory left, or the kernel refuses to watch another
// socket, the listeners rest for a moment. A listener that was shut down is not watched again.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/client_table.h"
#include "exec/worker_context.h"
#include "net/listener.h"

namespace rowsocket::exec {

class Acceptor {
 public:
  Acceptor(WorkerCore& core, ClientTable& clients) : core_(core), clients_(clients) {}

  /// Makes the worker's event loop watch the listeners.
  void Listen();
  void StopListening();
  /// Listens again if the listeners have rested for long enough.
  void Resume();
  /// The listener that an event is about; null when the event is about a connection.
  net::Listener* ListenerOf(void* tag) const {
    auto* const listener = static_cast<net::Listener*>(tag);
    std::vector<net::Listener>& all = *core_.context.listeners;
    return listener >= all.data() && listener < all.data() + all.size() ? listener : nullptr;
  }
  /// Takes the connections that wait at the listener, as many as one event may bring.
  void Accept(net::Listener& listener);

 private:
  void Pause();

  WorkerCore& core_;
  ClientTable& clients_;
  bool accepts_ = true;
  bool is_shut_ = false;  ///< A listener was shut down: the port takes no more connections.
  int64_t accept_again_ms_ = 0;
};

}  // namespace rowsocket::exec
