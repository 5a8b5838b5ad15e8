// Whether the server has an account of exactly this name and host, by its memory.
//
// Threads: any with a THD. Lifetime: `found` shows the texts given, which outlive it.
#pragma once

#include <strings.h>

#include <string>

#include "api.h"

namespace rowsocket::engine::server {

/// Fills in the account. `address` is where the text lies by which an account is found whose host
/// is a network: the first address of that. False also where the host matches the pattern of
/// another account of the same name, since the server takes it for that account's host.
inline bool FindExactly(Security_context* found, const std::string& user, const std::string& host,
                        std::string* address) {
  address->assign(host, 0, host.find('/'));
  return !FindAccount(found, user, host.c_str(), address->c_str()) &&
         strcasecmp(found->priv_host, host.c_str()) == 0;
}

}  // namespace rowsocket::engine::server
