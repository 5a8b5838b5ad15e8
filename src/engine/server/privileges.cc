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
  Privileges bits = 0;
  for (const PrivilegeBit& each : kPrivilegeBits) {
    bits |= (all & each.of_server) == ServerPrivileges(0) ? 0 : each.bit;
  }
  return bits;
}

PrivilegeReaderOwn& PrivilegeReader::own() {
  if (own_ == nullptr) own_ = std::make_unique<PrivilegeReaderOwn>();
  return *own_;
}

void PrivilegeReader::Close() {
  Unlock();
  own_.reset();
}

}  // namespace rowsocket::engine::server
