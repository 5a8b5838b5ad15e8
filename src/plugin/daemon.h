// What the two daemon plugins of this library have in common: whether they fit the server, their
// start and stop, and what their variables are declared with.
//
// Threads: the server's plugin code calls from one thread at a time.
// Errors: a start that fails writes the reason to the server's log.
#pragma once

#include <memory>
#include <string>

#include "api.h"
#include "exec/commit_board.h"

namespace rowsocket::plugin {

/// The running server's version as MYSQL_VERSION_ID has it: 101118 for 10.11.18.
unsigned RunningVersion();

/// Refuses, with both names, a server of another version than this library was built for.
bool FitsTheServer();

/// One for each core, so that a turn has the requests of many connections; two on a single core, so
/// that one that waits for the disk does not keep all others out.
unsigned ReadersForThisMachine();

/// Of open_files_limit, what is left when SQL has what it may need: so many connections and open
/// tables, and some logs. At least half.
int DescriptorsForConnections();

/// A warning in the server's log. What came from a table or from the wire has no control characters
/// there.
void Log(const std::string& text);

inline constexpr int kReadOnlyString = PLUGIN_VAR_READONLY | PLUGIN_VAR_MEMALLOC;

/// A row may be written through one plugin while it is read through the other.
struct SharedByPlugins {
  engine::IndexRegistry indexes;
  exec::CommitBoard commits;
};
SharedByPlugins& Shared();

/// The text of a variable that may not be set.
inline std::string Text(const char* value) { return value != nullptr ? value : ""; }

/// Makes and starts a runtime of what `take_variables()` returns; 0 and no runtime where the server
/// only installs its tables, 1 where it cannot start.
template <typename Runtime, typename TakeVariables>
int StartDaemon(std::unique_ptr<Runtime>* runtime, TakeVariables take_variables) {
  if (!FitsTheServer()) return 1;
  if (opt_bootstrap) return 0;  // mariadb-install-db: there is nothing to serve.
  std::string error;
  auto starting = std::make_unique<Runtime>();
  if (!starting->Start(take_variables(), &error)) {
    sql_print_error("rowsocket: %s", error.c_str());
    return 1;
  }
  *runtime = std::move(starting);
  return 0;
}

template <typename Runtime>
int StopDaemon(std::unique_ptr<Runtime>* runtime, const char* farewell) {
  if (*runtime == nullptr) return 0;
  (*runtime)->Stop();
  runtime->reset();
  sql_print_information("rowsocket: %s", farewell);
  return 0;
}

}  // namespace rowsocket::plugin
