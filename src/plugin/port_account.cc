#include "plugin/port_account.h"

#include <mutex>
#include <optional>
#include <utility>

#include "api.h"
#include "base/mutex.h"
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

/// What the workers of a port have found out about its account.
struct Opening {
  base::Mutex mutex;  ///< Held by the worker that looks.
  std::optional<bool> has_account GUARDED_BY(mutex);
  bool has_told GUARDED_BY(mutex) = false;  ///< The log says that the server does not say.
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

/// Looks the account and its default role up, once for all workers, and gives the account the role.
/// Returns whether the port may serve; without a value: another worker is looking, or the server
/// does not say now.
std::optional<bool> LookUpAccount(Opening& opening, model::Account& account, const char* variable,
                                  const std::string& port) {
  if (!opening.mutex.TryLock()) return std::nullopt;
  const base::MutexLock lock(opening.mutex, std::adopt_lock);
  if (opening.has_account) return opening.has_account;
  const std::optional<bool> has_account = engine::server::HasAccount(account);
  // The role is set even if there is no such account, because the housekeeper waits for it.
  std::optional<std::string> role = "";
  if (has_account == true) role = engine::server::DefaultRole(account);
  if (!has_account || !role) {
    if (!std::exchange(opening.has_told, true)) {
      LogPrintableWarning(std::string(variable) +
                          ": the server does not tell the account's rights now; the port (" + port +
                          ") opens when it does");
    }
    return std::nullopt;
  }
  account.SetRole(std::move(*role));
  opening.has_account = has_account;
  if (!*has_account)
    LogPrintableError(WhyMissing(account, variable) + "; the port (" + port + ") stays closed");
  return has_account;
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
  // A server that does not say now is asked again by the workers.
  if (HasServerStarted() && !engine::server::HasAccount(*made).value_or(true)) {
    *error = WhyMissing(*made, variable);
    return false;
  }
  port->may_serve = [made, variable, opening = std::make_shared<Opening>(), name = port->mode] {
    return LookUpAccount(*opening, *made, variable, name);
  };
  return true;
}

}  // namespace rowsocket::plugin
