// Looks for an account of exactly this name and host in the server's memory.
//
// Threads: any with a THD.
// Lifetime: `found` has views of the texts given, which outlive it.
#pragma once

#include <strings.h>

#include <string>

#include "api.h"

namespace rowsocket::engine::server {

/// Fills in the account. False if there is none, and if the host matches the pattern of
/// another account of the same name, because the server takes it for that account's host. `address`
/// keeps the text by which an account is found whose host is a network: the network's first
/// address.
inline bool FindExactly(Security_context* found, const std::string& user, const std::string& host,
                        std::string* address) {
  address->assign(host, 0, host.find('/'));
  return !FindAccount(found, user, host.c_str(), address->c_str()) &&
         strcasecmp(found->priv_host, host.c_str()) == 0;
}

}  // namespace rowsocket::engine::server
