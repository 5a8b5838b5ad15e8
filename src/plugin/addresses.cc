#include "plugin/addresses.h"

#include <utility>

#include "engine/server/server_log.h"
#include "plugin/common_variables.h"

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
    socket.path_origin = net::Address::Origin::kSocket;
    addresses->push_back(std::move(socket));
  }
  return true;
}

void WarnAboutOpenAddresses(const std::vector<net::Address>& addresses,
                            const CommonVariables& variables, const std::string& plugin,
                            const std::string& may) {
  if (variables.accounts || AdmitsByCertificate(variables.tls)) return;
  const std::string has_account = "has the rights of " + plugin + "_user";
  for (const net::Address& address : addresses) {
    if (net::IsLoopback(address)) continue;
    engine::server::LogWarning(
        "every client that reaches %s %s: %s_accounts is OFF", net::ToText(address).c_str(),
        variables.user.empty() ? may.c_str() : has_account.c_str(), plugin.c_str());
  }
}

}  // namespace rowsocket::plugin
