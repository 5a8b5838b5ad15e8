// What the plugins of this library ask of the server that has loaded it.
//
// Threads: any. Errors: a start that fails says so through ReportFailure.
#pragma once

#include <string>

#include "api.h"

namespace rowsocket::plugin {

/// The running server's version as MYSQL_VERSION_ID has it: 101118 for 10.11.18.
unsigned RunningVersion();

/// Empty when the server has the version that this library was built for; else the reason, with
/// both versions, why the library cannot run in it.
std::string WhyItDoesNotFit();

/// One for each core, so that a turn has the requests of many connections; two on a single core, so
/// that one that waits for the disk does not keep all others out.
unsigned ReadersForThisMachine();

/// Of open_files_limit, what is left when SQL has what it may need: so many connections and open
/// tables, and some logs. At least half.
int DescriptorsForConnections();

/// A warning in the server's log. What came from a table or from the wire has no control characters
/// there.
void Log(const std::string& text);

/// Why `plugin` does not start: an error in the server's log and, where a statement such as INSTALL
/// SONAME starts it, the error of that statement.
void ReportFailure(const char* plugin, const std::string& why);

inline constexpr int kReadOnlyString = PLUGIN_VAR_READONLY | PLUGIN_VAR_MEMALLOC;

/// The text of a variable that may not be set.
inline std::string Text(const char* value) { return value != nullptr ? value : ""; }

}  // namespace rowsocket::plugin
