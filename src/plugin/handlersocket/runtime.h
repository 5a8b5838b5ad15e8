// The composition root: from the values of the system variables to two running services.
//
// Threads: Start and Stop from the server's plugin code, one after the other.
// Errors: texts for the server's log, which name the variable to change.
#pragma once

#include <memory>
#include <string>

#include "engine/server/session.h"
#include "exec/service.h"
#include "frontend/handlersocket/frontend.h"

namespace rowsocket::plugin {

/// The values of the system variables; null strings are empty.
struct Settings {
  std::string address, port, port_wr, socket, socket_wr;
  std::string secret, secret_wr;
  unsigned threads = 16;
  unsigned threads_wr = 1;
  unsigned lock_wait_threads = 64;
  unsigned wrlock_timeout_s = 12;
  net::ListenOptions listen;
  frontend::TokenSettings tokens;
  model::Limits limits;
};

class Runtime {
 public:
  Runtime();
  ~Runtime() { Stop(); }

  bool Start(const Settings& settings, std::string* error);
  void Stop();

  const exec::StatRegistry& stats() const { return stats_; }

 private:
  struct Port {
    const char* name;
    const char* port_variable;
    const char* socket_variable;
    const char* secret_variable;
    const char* threads_variable;
    std::string port, socket, secret;
    unsigned threads;
    bool writable;
  };
  bool StartPort(const Port& port, const Settings& settings, std::string* error);
  bool FindAddresses(const Port& port, const Settings& settings,
                     std::vector<net::Address>* addresses, std::string* error);
  void WarnAboutOpenFiles(const Settings& settings);

  exec::StatRegistry stats_;
  std::unique_ptr<engine::server::ServerSessionFactory> sessions_;
  std::unique_ptr<exec::WaitLane> lane_;
  std::vector<std::unique_ptr<frontend::HandlerSocketSettings>> frontends_;
  std::vector<std::unique_ptr<exec::Service>> services_;
};

}  // namespace rowsocket::plugin
