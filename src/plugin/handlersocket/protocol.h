// HandlerSocket's ports: one that reads, one that reads and writes.
//
// Errors: texts, which name the variable to change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/handlersocket/frontend.h"
#include "plugin/protocol.h"
#include "plugin/tls.h"

namespace rowsocket::plugin {

/// The values of the system variables; null strings are empty.
struct HandlerSocketVariables {
  std::string address, port, port_wr, socket, socket_wr;
  std::string secret, secret_wr;
  std::string user, user_wr;
  unsigned threads = 16;
  unsigned threads_wr = 1;
  unsigned lock_wait_threads = 64;
  unsigned wrlock_timeout_s = 12;
  bool accounts = false;
  bool accounts_insecure = false;
  unsigned auth_threads = 4;
  net::ListenOptions listen;
  const exec::AccountLimitSettings* account_limits = nullptr;
  TlsVariables tls;
  exec::TokenSettings tokens;
  model::Limits limits;
};

class HandlerSocketProtocol final : public Protocol {
 public:
  explicit HandlerSocketProtocol(HandlerSocketVariables variables);

  bool Configure(const Counted& counted, DaemonSettings* settings, std::string* error) override;

 private:
  /// The settings that differ between the two ports.
  struct Mode {
    const char* name;
    const char* port_variable;
    const char* secret_variable;
    const char* user_variable;
    const char* threads_variable;
    std::string port, socket, secret, user;
    unsigned threads;
    bool writable;
  };
  bool AddPort(const Mode& mode, DaemonSettings* settings, std::string* error);
  bool AddressesOf(const Mode& mode, std::vector<net::Address>* addresses,
                   std::string* error) const;
  void WarnAboutOpenFiles(bool serves) const;

  const HandlerSocketVariables variables_;
  std::vector<std::unique_ptr<frontend::HandlerSocketSettings>> frontends_;
};

}  // namespace rowsocket::plugin
