#include "plugin/daemon.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include "base/printable.h"

namespace rowsocket::plugin {

unsigned RunningVersion() {
  // --version=TEXT shows clients another version than the server has: nothing can be told from it,
  // and the server's own check of the interface version has to do.
  if (using_custom_server_version) return MYSQL_VERSION_ID;
  char* end = server_version;
  const unsigned long major = std::strtoul(end, &end, 10);
  const unsigned long minor = *end == '.' ? std::strtoul(end + 1, &end, 10) : 0;
  const unsigned long patch = *end == '.' ? std::strtoul(end + 1, &end, 10) : 0;
  return static_cast<unsigned>(major * 10000 + minor * 100 + patch);
}

bool FitsTheServer() {
  if (RunningVersion() == MYSQL_VERSION_ID) return true;
  sql_print_error(
      "rowsocket: this rowsocket.so was built for MariaDB %s and cannot run in "
      "MariaDB %s: build it against that version's source (scripts/build)",
      MYSQL_SERVER_VERSION, server_version);
  return false;
}

SharedByPlugins& Shared() {
  static SharedByPlugins shared;
  return shared;
}

int DescriptorsForConnections() {
  constexpr ulong kOthers = 1024;
  const ulong sql = max_connections + tc_size + kOthers;
  const ulong half = open_files_limit / 2;
  const ulong left = open_files_limit > sql ? open_files_limit - sql : 0;
  return static_cast<int>(std::min<ulong>(std::max(half, left), std::numeric_limits<int>::max()));
}

void Log(const std::string& text) {
  sql_print_warning("rowsocket: %s", base::Printable(text).c_str());
}

unsigned ReadersForThisMachine() { return std::max(2u, std::thread::hardware_concurrency()); }

}  // namespace rowsocket::plugin
