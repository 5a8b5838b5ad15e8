// HandlerSocket's ports: one that reads, one that reads and writes.
//
// Errors: texts, which name the variable to change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/handlersocket/frontend.h"
#include "plugin/common_variables.h"
#include "plugin/protocol.h"

namespace rowsocket::plugin {

/// Members without _wr that are about a port belong to the reading port.
struct HandlerSocketVariables : CommonVariables {
  std::string port_wr, socket_wr;
  std::string secret, secret_wr;
  std::string user_wr;
  unsigned threads_wr = 0;
  bool serves_tokens = false;
  exec::TokenSettings tokens;
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
    const char* socket_variable;
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
