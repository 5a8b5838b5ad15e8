// Questions of the plugins to the server that has loaded this library, and their messages to it.
//
// Threads: any.
// Errors: a start that fails says so through ReportFailure.
#pragma once

#include <string>

#include "api.h"

namespace rowsocket::plugin {

/// The running server's version in the form of MYSQL_VERSION_ID: 101118 for 10.11.18.
unsigned RunningVersionId();

/// Why the library cannot run in the server, with both versions; empty when the server has the
/// version that the library was built for.
std::string WhyItDoesNotFit();

/// How many workers read by default: one for each core, so that a turn has the requests of many
/// connections. On a single core there are two, so that a worker that waits for the disk does not
/// keep all clients waiting. HandlerSocket has at least kReadersMin (its variables.cc).
unsigned ReadersForThisMachine();

/// The part of open_files_limit that is left for workers and their connections when SQL has all
/// descriptors that it may need, for its connections, open tables and some logs. At least half of
/// the limit.
int DescriptorsForConnections();

/// Write a warning, or an error, to the server's log. Control characters, which a text from a
/// table, a variable or the wire may have, are replaced; the functions of
/// engine/server/server_log.h write a text as it is.
void LogPrintableWarning(const std::string& text);
void LogPrintableError(const std::string& text);

/// Reports why `plugin` does not start: as an error in the server's log and, if a statement such
/// as INSTALL SONAME starts the plugin, as the error of that statement.
void ReportFailure(const char* plugin, const std::string& why);

/// Raises the error of a statement that is to end a connection that does not exist.
void ReportNoConnection(const char* plugin, unsigned long long id);
/// Tells the session of a SET GLOBAL that the server has no events for audit plugins.
void ReportNoAudit();

/// The text of a string variable, which is null when it is not set.
inline std::string Text(const char* value) { return value != nullptr ? value : ""; }

}  // namespace rowsocket::plugin
