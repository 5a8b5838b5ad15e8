// Makes the addresses that a port listens on from the values of a plugin's variables, and warns of
// those at which it serves everybody.
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
  std::string socket;  ///< The path of a UNIX socket, beside the port or without it.
  net::VariableNames names;
};

/// Leaves `*addresses` empty where neither port nor socket is set.
bool FindAddresses(const PortVariables& variables, std::vector<net::Address>* addresses,
                   std::string* error);

/// Writes a warning into the error log for each address beyond loopback, where clients neither log
/// in nor show a certificate. `plugin`: what the names of the variables begin with, "resp". `may`:
/// what such a client does without an account of the port, "has all rights on all tables".
void WarnAboutOpenAddresses(const std::vector<net::Address>& addresses,
                            const CommonVariables& variables, const std::string& plugin,
                            const std::string& may);

}  // namespace rowsocket::plugin
