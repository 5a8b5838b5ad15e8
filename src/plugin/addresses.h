// Makes the addresses that a port listens on from the values of a plugin's variables.
//
// Errors: texts, which name the variable to change.
#pragma once

#include <string>
#include <vector>

#include "net/address.h"

namespace rowsocket::plugin {

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

}  // namespace rowsocket::plugin
