#include "plugin/addresses.h"

#include <utility>

namespace rowsocket::plugin {

bool FindAddresses(const PortVariables& variables, std::vector<net::Address>* addresses,
                   std::string* error) {
  if (!variables.port.empty() && variables.port != "0") {
    auto parsed = net::ParseAddresses(variables.address, variables.port, variables.names, error);
    if (!parsed) return false;
    *addresses = std::move(*parsed);
  }
  if (!variables.socket.empty()) {
    net::Address socket;
    socket.kind = net::Address::Kind::kUnix;
    socket.path = variables.socket;
    addresses->push_back(std::move(socket));
  }
  return true;
}

}  // namespace rowsocket::plugin
