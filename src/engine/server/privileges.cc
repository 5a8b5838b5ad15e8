#include "engine/server/privileges.h"

namespace rowsocket::engine::server {

std::string WhyNoRights() {
  return SkipsGrantTables() ? "the server runs with skip-grant-tables" : "";
}

bool CanHaveGrants(const std::string& name) {
  return !name.empty() && name.size() <= NAME_LEN && name.find('\0') == std::string::npos;
}

bool CanBeAccount(const model::Account& account) {
  return !account.user().empty() && account.user().size() < USERNAME_LENGTH &&
         !account.host().empty() && account.host().size() <= HOSTNAME_LENGTH;
}

Privileges BitsOf(ServerPrivileges all) {
  const auto bit = [all](ServerPrivileges privilege, Privileges bit) {
    return (all & privilege) == ServerPrivileges(0) ? 0 : bit;
  };
  return bit(SELECT_ACL, kSelect) | bit(INSERT_ACL, kInsert) | bit(UPDATE_ACL, kUpdate) |
         bit(DELETE_ACL, kDelete);
}

}  // namespace rowsocket::engine::server
