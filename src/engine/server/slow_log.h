// Writes requests to the server's log of slow queries. One .cc for each family of servers.
//
// Threads: the session's.
// Errors: the server reports its own.
#pragma once

#include <cstdint>

#include "engine/slow_request.h"

class THD;

namespace rowsocket::engine::server {

/// @@global.long_query_time, in microseconds.
int64_t LongQueryUs();
/// Decides whether the server's variables let the request into the log: slow_query_log; in MariaDB
/// log_slow_filter; then min_examined_row_limit and, in MariaDB, log_slow_rate_limit, which
/// log_slow_always_query_time (since 11.8) overrides. Call it once for a request, because
/// log_slow_rate_limit counts the calls.
bool TakesSlowLog(const SlowRequest& request);
/// Writes the request to the log, file and table, as the server writes a query of the account.
/// REQUIRES: the THD has no open tables and no transaction.
void WriteSlowLog(THD* thd, const SlowRequest& request);

}  // namespace rowsocket::engine::server
