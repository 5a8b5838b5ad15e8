#include "plugin/host.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include "base/printable.h"
#include "engine/server/server_log.h"

namespace rowsocket::plugin {

unsigned RunningVersionId() {
  // --version=TEXT shows clients another version than the server has. The text then says nothing,
  // and the server's own check of the interface version has to be enough.
  if (engine::server::ShowsOtherVersion()) return MYSQL_VERSION_ID;
  char* end = server_version;
  const unsigned long major = std::strtoul(end, &end, 10);
  const unsigned long minor = *end == '.' ? std::strtoul(end + 1, &end, 10) : 0;
  const unsigned long patch = *end == '.' ? std::strtoul(end + 1, &end, 10) : 0;
  return static_cast<unsigned>(major * 10000 + minor * 100 + patch);
}

std::string WhyItDoesNotFit() {
  if (RunningVersionId() == MYSQL_VERSION_ID) return {};
  const std::string name = engine::server::kServerName;
  std::string why = "this rowsocket.so was built for " + name;
  why.append(" ").append(MYSQL_SERVER_VERSION).append(" and cannot run in ").append(name);
  why.append(" ").append(server_version);
  return why.append(": build it against that version's source (scripts/build)");
}

int DescriptorsForConnections() {
  constexpr ulong kOthers = 1024;
  const ulong sql = max_connections + engine::server::OpenTablesMax() + kOthers;
  const ulong half = open_files_limit / 2;
  const ulong left = open_files_limit > sql ? open_files_limit - sql : 0;
  return static_cast<int>(std::min<ulong>(std::max(half, left), std::numeric_limits<int>::max()));
}

void LogPrintableWarning(const std::string& text) {
  engine::server::LogWarning("%s", base::Printable(text).c_str());
}

void LogPrintableError(const std::string& text) {
  engine::server::LogError("%s", base::Printable(text).c_str());
}

void ReportFailure(const char* plugin, const std::string& why) {
  const std::string text = base::Printable(why);
  engine::server::LogError("%s", text.c_str());
  // While the server starts, there is neither a statement nor a session.
  if (current_thd == nullptr || current_thd->lex == nullptr ||
      current_thd->lex->sql_command != SQLCOM_INSTALL_PLUGIN) {
    return;
  }
  my_printf_error(ER_CANT_INITIALIZE_UDF, "Can't initialize function '%s'; %s", MYF(0), plugin,
                  text.c_str());
}

void ReportNoConnection(const char* plugin, unsigned long long id) {
  my_printf_error(ER_NO_SUCH_THREAD,
                  "%s has no connection with the id %llu: see "
                  "information_schema.ROWSOCKET_CONNECTIONS",
                  MYF(0), plugin, id);
}

void ReportNoAudit() {
  my_printf_error(ER_NOT_SUPPORTED_YET, "events of tables for audit plugins: this server has none",
                  MYF(0));
}

unsigned ReadersForThisMachine() { return std::max(2u, std::thread::hardware_concurrency()); }

}  // namespace rowsocket::plugin
