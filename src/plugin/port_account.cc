#include "plugin/port_account.h"

#include <mutex>

#include "api.h"
#include "engine/server/privileges.h"
#include "plugin/host.h"

namespace rowsocket::plugin {

namespace {

bool HasServerStarted() {
  mysql_mutex_lock(&LOCK_server_started);
  const bool has_started = mysqld_server_started;
  mysql_mutex_unlock(&LOCK_server_started);
  return has_started;
}

/// The first worker of a port looks for the account; the others wait for its result.
struct Opening {
  std::once_flag once;
  bool has_account = false;
};

std::string WhyMissing(const model::Account& account, const char* variable) {
  const std::string name = "'" + account.user() + "'@'" + account.host() + "'";
  const std::string why = engine::server::WhyNoRights();
  if (!why.empty()) {
    return std::string(variable) + " is " + name + ", whose rights are not known: " + why;
  }
  return std::string(variable) + ": the server has no account " + name +
         ": create the account, or set " + variable + " to another one";
}

}  // namespace

bool TakeAccount(const std::string& value, const char* variable, exec::PortSettings* port,
                 std::shared_ptr<const model::Account>* account, std::string* error) {
  if (value.empty()) return true;
  // A name may hold @, a host does not. As in SQL, a name alone is the account for all hosts.
  const size_t at = value.rfind('@');
  const std::string host = at == std::string::npos ? "%" : value.substr(at + 1);
  auto made = std::make_shared<model::Account>(value.substr(0, at), host);
  if (made->user().empty() || host.empty()) {
    *error = std::string(variable) + " is to be name@host, the name of an account of the server";
    return false;
  }
  made->AwaitRole();  // The housekeeper may get the account before a worker has looked it up.
  *account = made;
  if (HasServerStarted() && !engine::server::HasAccount(*made)) {
    *error = WhyMissing(*made, variable);
    return false;
  }
  auto opening = std::make_shared<Opening>();
  port->may_serve = [made, variable, opening, name = port->mode] {
    std::call_once(opening->once, [&] {
      opening->has_account = engine::server::HasAccount(*made);
      // The role is set even if there is no such account, because the housekeeper waits for it.
      made->SetRole(opening->has_account ? engine::server::DefaultRole(*made) : std::string());
      if (!opening->has_account)
        LogError(WhyMissing(*made, variable) + "; the port (" + name + ") stays closed");
    });
    return opening->has_account;
  };
  return true;
}

}  // namespace rowsocket::plugin
