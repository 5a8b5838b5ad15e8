// Makes the addresses that a port listens on from the values of a plugin's variables, and warns of
// addresses at which the port serves everybody.
//
// Errors: texts, which name the variable to change.
#pragma once

#include <string>
#include <vector>

#include "net/address.h"

namespace rowsocket::plugin {

struct CommonVariables;

/// The variables of a port; an empty text is a variable that is not set.
struct PortVariables {
  std::string address;
  std::string port;    ///< "0": no port.
  std::string socket;  ///< The path of a UNIX socket, with or without a port.
  net::VariableNames names;
};

/// Makes the addresses. Leaves `*addresses` empty if neither port nor socket is set.
bool FindAddresses(const PortVariables& variables, std::vector<net::Address>* addresses,
                   std::string* error);

/// Writes a warning into the error log for each address beyond loopback at which clients neither
/// log in nor show a certificate. `plugin`: how the names of the variables begin, "resp". `may`:
/// what such a client may do if the port has no account, "has all rights on all tables".
void WarnAboutOpenAddresses(const std::vector<net::Address>& addresses,
                            const CommonVariables& variables, const std::string& plugin,
                            const std::string& may);

}  // namespace rowsocket::plugin
