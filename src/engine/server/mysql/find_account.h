// Looks for the server's accounts in its memory.
//
// Threads: any with a THD.
// Lifetime: `found` has views of the texts given, which outlive it.
#pragma once

#include <strings.h>

#include <string>

#include "api.h"
#include "sql/auth/auth_internal.h"

namespace rowsocket::engine::server {

/// Fills in the account of exactly this name and host, with its default roles. False if there is
/// none, and if the host matches the pattern of another account of the same name, because the
/// server takes it for that account's host. `address` keeps the text by which an account is found
/// whose host is a network: the network's first address.
inline bool FindExactly(THD* thd, Security_context* found, const std::string& user,
                        const std::string& host, const char* db, std::string* address) {
  address->assign(host, 0, host.find('/'));
  return !acl_getroot(thd, found, user.c_str(), host.c_str(), address->c_str(), db) &&
         strcasecmp(found->priv_host().str, host.c_str()) == 0;
}

/// Gives the account the roles that a login activates besides the default ones: all roles if
/// activate_all_roles_on_login is ON, otherwise the mandatory ones if activate_mandatory_roles is
/// ON. REQUIRES: the metadata lock of the accounts' caches; an account that was found.
inline void ActivateRolesOfLogin(Security_context* account) {
  if (opt_always_activate_granted_roles) {
    account->clear_active_roles();
    activate_all_granted_and_mandatory_roles(
        find_acl_user(account->priv_host().str, account->priv_user().str, true), account);
  } else {
    const size_t before = account->get_num_active_roles();
    if (opt_activate_mandatory_roles) activate_all_mandatory_roles(account);
    if (account->get_num_active_roles() == before) return;
  }
  account->checkout_access_maps();
}

/// The account's privileges on all tables of the database `db`, for which the account was found.
/// They are not what acl_getroot notes, which takes the name for a pattern if the account has
/// roles.
inline Access_bitmask OnDatabase(const Security_context& account, const std::string& db) {
  const Access_bitmask on_this = account.get_num_active_roles() != 0
                                     ? account.db_acl({db.c_str(), db.size()}, false)
                                     : account.current_db_access();
  return account.master_access(db) | on_this;
}

}  // namespace rowsocket::engine::server
