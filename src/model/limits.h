// The limits of what the wire can reach, in one place (invariant I3): a number from the wire is
// checked against one of these before it sizes anything. Limits marked (variable) are defaults of
// system variables. Layers that may not see this one have limits of their own: kLingerBytesMax in
// net/connection.h, kCipherBytesMax and kEmptyReadsMax in net/tls_stream.h, kSecretBytesMax in
// base/secret.h, SecretText::kBytesMax in base/secret_text.h.
//
// The order: first limits that a variable sets (Limits); then those of all protocols, of each
// single protocol, of pairs of protocols, of the engine, and of what the plugins show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace rowsocket::model {

/// The limits of one plugin, which sets those that it has a variable for. If several plugins have
/// the variable, the comment names HandlerSocket's.
struct Limits {
  // HandlerSocket and RESP: what a client sends. Only HandlerSocket has ids of indexes.
  /// (variable) handlersocket_line_max_bytes; of RESP resp_request_max_bytes, for an argument, and
  /// for the commands of a MULTI.
  size_t line_bytes_max = 16u << 20;
  uint32_t index_ids_max = 1024;  ///< (variable) handlersocket_index_ids_max, a connection
  uint32_t values_max = 10'000;   ///< (variable) handlersocket_values_max, a request
  // All protocols: replies and connections.
  size_t reply_bytes_max = 64u << 20;  ///< (variable) handlersocket_reply_max_bytes
  uint32_t connections_max = 65'536;   ///< (variable) handlersocket_connections_max, a port
  /// File descriptors of the process that workers and connections may use; higher descriptors are
  /// for SQL, tables and logs.
  int descriptors_max = std::numeric_limits<int>::max();
  size_t buffered_bytes_max = 1u << 20;  ///< (variable) handlersocket_buffer_max_bytes: unsent
                                         ///< reply bytes after which a connection is paused
  size_t memory_bytes_max = 1u << 30;    ///< (variable) handlersocket_memory_max_bytes: in the
                                         ///< buffers of a port's connections together
  uint32_t idle_timeout_s = 300;         ///< (variable) handlersocket_timeout
  uint32_t auth_timeout_s = 10;          ///< (variable) handlersocket_auth_timeout
  // memcached.
  size_t item_bytes_max = 1u << 20;  ///< (variable) daemon_memcached_item_size_max
};

// All protocols: what a client sends first, and how long the names are that it gives.

/// Bytes of a client's first input that Frontend::RefusePlain gets, so that it can answer in the
/// client's dialect; as many as the header of memcached's binary dialect has.
inline constexpr size_t kFirstBytesMax = 24;
/// Bytes of the name of a table, an index or a column that a client opens (the server's own limit,
/// NAME_LEN, is below it), and of a client's name.
inline constexpr size_t kNameBytesMax = 256;

// All protocols: TLS handshakes, logins, and the accounts of connections.

/// TLS handshakes of one port that are done at a time; more wait. One costs about 40 KiB.
inline constexpr uint32_t kHandshakesMax = 2048;
/// TLS handshakes of one address on one port that are done at a time; more wait.
inline constexpr uint32_t kHandshakesOfAddressMax = 512;
/// Time for a TLS handshake if auth_timeout is 0, in seconds.
inline constexpr uint32_t kHandshakeTimeoutS = 10;
/// Logins of one source that are under way at a time; a failed login is under way until it is
/// answered.
inline constexpr uint32_t kLoginsOfSourceMax = 4;
/// Logins of all sources of one address that are under way at a time, counted in the same way.
inline constexpr uint32_t kLoginsOfAddressMax = 32;
/// Logins of one address that wait to be checked.
inline constexpr uint32_t kLoginsWaitingOfAddressMax = 1024;
/// Sources of logins that are remembered.
inline constexpr size_t kLoginSourcesMax = 4096;
/// Time after its last failed login until a source counts as new.
inline constexpr int64_t kLoginForgetMs = 60'000;
/// Time until the first failed login of a source is answered.
inline constexpr int64_t kLoginDelayMs = 100;
/// How many times kLoginDelayMs doubles at most: once with each further failure of the source.
inline constexpr uint32_t kLoginDelayDoublingsMax = 5;
/// Failed logins after which a connection ends.
inline constexpr uint32_t kLoginFailuresMax = 3;
/// Bytes of a user's name in a login: the server's own limit is 128 characters.
inline constexpr size_t kUserBytesMax = 512;
/// Accounts whose requests are counted, if the requests per second of an account are limited.
inline constexpr size_t kAccountBudgetsMax = 4096;
/// The longest time for which an account's requests are refused because one request, such as a get
/// of many keys, took more than was left of its budget.
inline constexpr int64_t kAccountOwedMsMax = 60'000;

// All protocols: turns, batches, the waits of their requests, and threads without work
// (exec/turn.h, exec/batch_collector.h, exec/wait_lane.h, exec/worker.h).

/// Requests of one connection in one turn, so that a deep pipeline leaves room for the others.
inline constexpr uint32_t kTurnRequestsPerConnectionMax = 128;
/// Requests of all connections in one turn, and so in one transaction.
inline constexpr uint32_t kTurnRequestsMax = 4096;
/// Bytes of memory for the values of a turn's requests: a short line may count many empty values.
inline constexpr size_t kTurnArenaBytesMax = 16u << 20;
/// Bytes of replies after which a turn begins no more requests.
inline constexpr size_t kTurnReplyBytesMax = 64u << 20;
/// Time after which a turn begins no more requests.
inline constexpr int64_t kTurnMsMax = 100;
/// A turn looks at the clock after this many requests, however short they seem: a short one may
/// read or write a large row.
inline constexpr uint32_t kItemsPerLook = 8;
/// A turn looks at the clock after a request that has met more rows than these.
inline constexpr uint64_t kShortFindRows = 100;
/// A turn looks at the clock after a request that has more bytes than these.
inline constexpr size_t kShortLineBytes = 4096;
/// Requests of one connection in one batch, if no other connection writes.
inline constexpr uint32_t kBatchRequestsAloneMax = 1024;
/// The least share of one connection in a batch, however many connections write.
inline constexpr uint32_t kBatchRequestsShareMin = 16;
/// Connections that a worker puts into a batch before its executor may take it.
inline constexpr uint32_t kPublishEvery = 64;
/// Batches that one worker has at a time: executed, published, done, collected.
inline constexpr uint32_t kBatchesMax = 4;
/// Arenas of its worker's rounds that a batch keeps because items that it took over lie in them;
/// items of further rounds are read again into the batch's own arena.
inline constexpr size_t kBatchArenasMax = 16;
/// How many times a batch is run again after a deadlock before its requests run one by one.
inline constexpr uint32_t kBatchRetriesMax = 3;
/// For how long a batch that loses its rows to other nodes of a cluster is run again.
inline constexpr int64_t kConflictRetryMsMax = 5000;
/// The longest pause before a batch that lost its rows to other nodes is run again.
inline constexpr int64_t kConflictPauseMsMax = 20;
/// How many times a request in the wait lane is executed that gives way to a DDL statement.
inline constexpr uint32_t kGiveWayTriesMax = 2000;
/// How long a request in the wait lane pauses when it gives way.
inline constexpr uint32_t kGiveWayPauseMs = 5;
/// Time without work after which a worker, or its executor, closes its tables, so that no session
/// waits for them.
inline constexpr int kReleaseTablesMs = 10;
/// How often a worker or an executor without work looks whether the server wants its thread to end.
inline constexpr int kSessionTickMs = 200;

// HandlerSocket.

/// Bytes of a line of HandlerSocket that are read before the connection has authenticated.
inline constexpr size_t kUnauthenticatedLineBytesMax = 4096;
/// Columns, filter columns included, per id: all ids of a connection together may have this many
/// for each id that it may have.
inline constexpr size_t kOpenColumnsOfAnId = 64;
/// Columns that all ids of a connection together may have at least, even if kOpenColumnsOfAnId for
/// each id would be fewer.
inline constexpr size_t kOpenColumnsMin = 65'536;
constexpr size_t OpenColumnsMax(const Limits& limits) {
  const size_t columns = kOpenColumnsOfAnId * limits.index_ids_max;
  return columns > kOpenColumnsMin ? columns : kOpenColumnsMin;
}
/// Transactions of a position that a client asks about: one for each replication domain of MariaDB,
/// or ranges of MySQL's.
inline constexpr size_t kGtidsMax = 64;
/// Bytes of a MySQL transaction's tag (mysql::gtid::tag_max_length).
inline constexpr size_t kGtidTagBytesMax = 32;

// memcached.

/// Bytes of a memcached key.
inline constexpr size_t kMemcachedKeyBytesMax = 250;
/// Bytes that a memcached client may send without a line feed, except in get and gets.
inline constexpr size_t kMemcachedLineBytesMax = 2048;
/// Bytes of any memcached command line, with as many keys as a get may have.
inline constexpr size_t kMemcachedLongLineBytesMax = 1u << 20;
/// Keys of one get or gat (memcached's own tests ask for 18,725): a get that waits for a locked
/// table holds a hundred bytes for each key as long as it waits.
inline constexpr size_t kMemcachedKeysMax = 32'768;
/// Words of a meta command, with its verb and its key.
inline constexpr uint32_t kMetaWordsMax = 20;
/// Bytes of the opaque token of a meta command, with its letter.
inline constexpr size_t kMetaOpaqueBytesMax = 32;
/// Bytes of an error's text in a reply to a memcached client.
inline constexpr size_t kMemcachedErrorBytesMax = 512;
/// Marks of memcached items that are remembered.
inline constexpr size_t kMemcachedMarksMax = 65'536;
/// Prefixes of keys that `stats detail` of memcached counts by.
inline constexpr size_t kMemcachedPrefixesMax = 1000;

// RESP.

/// Bytes of an inline command of RESP: as many as Redis takes.
inline constexpr size_t kRespInlineBytesMax = size_t{64} << 10;
/// Bytes of a line of RESP that counts arguments, or the bytes of one: as many as Redis takes.
inline constexpr size_t kRespCountBytesMax = size_t{64} << 10;
/// Bytes by which a whole RESP request may exceed the longest argument that is taken: room for a
/// key (3 KiB at most in InnoDB, twice as many in UTF-8), and for what the protocol adds.
inline constexpr size_t kRespBesideArgumentBytesMax = size_t{8} << 10;
/// Bytes of a RESP request, without its second argument, up to which it is remembered as a pattern
/// (RequestPattern).
inline constexpr size_t kRespRepeatedBytesMax = 512;
/// Arguments that a client of RESP may send before it has logged in, the command's name included:
/// as many as Redis takes.
inline constexpr size_t kRespUnauthenticatedArgumentsMax = 10;
/// Bytes of a request of RESP that are read before its client has logged in.
inline constexpr size_t kRespUnauthenticatedBytesMax = size_t{16} << 10;
/// Arguments that a client of RESP may send once it has logged in, the command's name included: as
/// many as Redis takes. A command with more than kRespServedArgumentsMax of them is refused.
inline constexpr size_t kRespArgumentsMax = 1'048'576;
/// Commands of a transaction of RESP: caches set many keys in one, some with a command for each.
inline constexpr size_t kRespCommandsMax = 10'000;
/// Keys that a connection of RESP watches together.
inline constexpr size_t kRespWatchedKeysMax = 64;
/// Bytes of the keys that a connection of RESP watches together.
inline constexpr size_t kRespWatchedBytesMax = size_t{1} << 20;
/// Open indexes of a connection of RESP with which a turn may begin; if there are more, all are
/// closed before its first command.
inline constexpr size_t kRespOpenIndexesMax = 256;
/// Bytes of the names (shapes) of a connection's open indexes with which a turn may begin; if
/// there are more, all indexes are closed before its first command.
inline constexpr size_t kRespShapeBytesMax = size_t{1} << 20;
/// Columns of a connection's open indexes with which a turn may begin; if there are more, all
/// indexes are closed before its first command. Each takes about a hundred bytes.
inline constexpr size_t kRespOpenIndexColumnsMax = 65'536;
/// Columns of the indexes that are opened for one command of RESP, or one transaction: each of its
/// commands may name other fields, and their indexes stay open until the next turn.
inline constexpr size_t kRespCommandColumnsMax = 65'536;
/// Bytes of a connection's open indexes that do not count as its memory: counting them would cost
/// each connection access to a number that all threads write.
inline constexpr size_t kRespOpenIndexBytesUncounted = size_t{64} << 10;
/// Calls that are made for one command of RESP, including calls that are made again.
inline constexpr size_t kRespCallsMadeMax = 1'000'000;
/// Bytes that are parsed for one command of RESP, or one transaction, which is parsed again for
/// each index that is opened for it. Parsing them takes half a second.
inline constexpr size_t kRespBytesParsedMax = size_t{64} << 20;
/// Indexes that are opened for a command of RESP however many bytes it has, because even the
/// longest transaction may write to several tables.
inline constexpr size_t kRespIndexesOpenedMin = 16;
/// Bytes of a string that APPEND and SETRANGE make, so that few bytes cannot make a larger string
/// than one command could set.
inline constexpr size_t kRespStringBytesMax = size_t{16} << 20;
/// The bytes of a key of RESP's store: those of the column k of rowsocket.store.
inline constexpr size_t kRespStoreKeyBytesMax = 1024;
/// Patterns of one CONFIG GET of RESP.
inline constexpr size_t kRespConfigPatternsMax = 64;
/// Rows that one SCAN or KEYS of RESP looks at.
inline constexpr uint64_t kRespScanRowsMax = 10'000;
/// Bytes of the keys that a command of RESP on many keys looks at: as many as kRespScanRowsMax keys
/// of 3 KiB, the longest of InnoDB, have, each of which may be twice as long in UTF-8.
inline constexpr size_t kRespScannedBytesMax = size_t{64} << 20;
/// Bytes of the pattern of SCAN, HSCAN and CONFIG GET, which is compared with each name.
inline constexpr size_t kRespPatternBytesMax = 1024;
/// Bytes of the pattern of KEYS, which goes through kRespScanRowsMax keys at once.
inline constexpr size_t kRespKeysPatternBytesMax = 128;
/// Rows that one SCAN of RESP looks at, multiplied by the bytes of its pattern: matching a key
/// takes time of the product of both lengths.
inline constexpr uint64_t kRespScanPatternBytesMax = 200'000;
/// Steps in which one SCAN or KEYS of RESP compares its pattern with keys: each key takes up to
/// twice the product of its length and the pattern's. All steps take a fraction of a second.
inline constexpr uint64_t kRespMatchStepsMax = 50'000'000;
/// Positions of SCANs that a port of RESP remembers: each has a key of up to 3 KiB.
inline constexpr size_t kRespCursorsMax = 4096;
/// Keys of one database that INFO of RESP counts one by one.
inline constexpr uint64_t kRespInfoKeysMax = 2'000;
/// Rows that RANDOMKEY of RESP looks at first: if a database has fewer, it chooses one of all keys.
inline constexpr uint64_t kRespRandomOfAllMax = 1'000;
/// Rows of a larger database, next to each other at a random place, of which RANDOMKEY of RESP
/// chooses one.
inline constexpr uint64_t kRespRandomOfPartMax = 100;
/// Bytes of a script of RESP that is compared with those that are served.
inline constexpr size_t kRespScriptBytesMax = 4096;
/// Different texts of served scripts that a port remembers.
inline constexpr size_t kRespScriptsMax = 1024;

// HandlerSocket and RESP: units, and requests that take effect once (exec/unit.h,
// exec/token_book.h).

/// Bytes of the first line of a group of HandlerSocket, with its token and its LF.
inline constexpr size_t kGroupLineBytesMax = 4096;
/// Requests of a group of HandlerSocket.
inline constexpr size_t kGroupRequestsMax = 64;
/// Rows that the requests of a group of HandlerSocket may change in all.
inline constexpr uint64_t kGroupRowsMax = 10'000;
/// Keys that one command of RESP names, or all commands of a transaction in all.
inline constexpr size_t kRespUnitKeysMax = 10'000;
/// Arguments of a command of RESP that is served: its name, a key, and kRespUnitKeysMax fields with
/// a value each.
inline constexpr size_t kRespServedArgumentsMax = 2 * kRespUnitKeysMax + 2;
/// Locks of other sessions that a unit has met, and takes first when it runs again.
inline constexpr size_t kUnitMetLocksMax = 8;
/// Bytes of an idempotency token.
inline constexpr size_t kTokenBytesMax = 64;
/// Bytes of an answer that is kept with its token.
inline constexpr size_t kTokenAnswerBytesMax = 64u << 10;
/// Expired tokens that are removed whenever a new one is kept.
inline constexpr uint64_t kTokensPurgedAtOnce = 2;
/// Seconds for which no expired token is removed after a purge has cost a transaction or a unit.
inline constexpr uint64_t kTokenPurgePauseS = 10;
/// If the calendar gains more seconds than this on a clock that nobody sets, it has jumped forward:
/// no token expires for as long as tokens count.
inline constexpr int64_t kCalendarJumpS = 60;

// memcached and RESP: what one command reads.

/// Bytes of the values that one command of memcached or RESP, or one transaction, reads in order to
/// answer or to change them, beyond those that its reply may have. Reading them takes a fraction of
/// a second. What SETRANGE and APPEND of RESP make from few bytes counts as read.
inline constexpr size_t kReadBytesMax = size_t{256} << 20;

// memcached and RESP: the mapping tables, and work that goes through all rows of a container
// (src/keyspace).

/// Rows that are read of each of the mapping tables.
inline constexpr uint32_t kMappingRowsMax = 1000;
/// Value columns of one container.
inline constexpr uint32_t kContainerValuesMax = 64;
/// Time until a change of the mapping tables is seen.
inline constexpr int64_t kMappingAgeMsMax = 50;
/// Time for which a request waits while another thread reads the mapping tables.
inline constexpr int64_t kMappingWaitMsMax = 1000;
/// Time until a change of a mapped table's columns is seen.
inline constexpr int64_t kTableAgeMsMax = 1000;
/// Rows that flush_all deletes at a time.
inline constexpr uint64_t kFlushChunkRows = 10'000;
/// Time until a flush that failed is tried again.
inline constexpr int64_t kFlushRetryMs = 1000;
/// For how long a delayed flush that meets locks is tried again. (A longer time would be worse: the
/// flush also deletes what is written meanwhile.)
inline constexpr int64_t kFlushOverdueMsMax = 600'000;
/// Rows that a purge looks at in one round, if there is no index of expiry.
inline constexpr uint64_t kPurgeScanRows = 1000;
/// Expired rows of a container that are removed in a second, unless a variable says otherwise.
inline constexpr unsigned kPurgeRowsPerSecond = 1000;
/// Rows with one moment of expiry that a pass of the purge could not delete: from this many on the
/// moment is stuck, and passes leave it out for a pause, because each search among the rows of a
/// moment goes through all that stay.
inline constexpr uint64_t kPurgeStuckRows = 2000;
/// The first pause for which passes of the purge leave a stuck moment out. Each next pause is twice
/// as long.
inline constexpr int64_t kPurgeStuckPauseMs = 10'000;
/// The longest pause for which passes of the purge leave a stuck moment out.
inline constexpr int64_t kPurgeStuckPauseMsMax = 600'000;
/// Stuck moments that are remembered for one container.
inline constexpr size_t kPurgeStuckMomentsMax = 8;
/// Time between two rounds of the purge, while there is something to purge.
inline constexpr int64_t kPurgeTickMs = 100;
/// Time between two rounds of the purge, while there is nothing to purge.
inline constexpr int64_t kPurgeIdleMs = 500;

// The engine: indexes and tables, and what a thread keeps of them for its next request
// (src/engine/server).

/// Key parts of an index (MariaDB's MAX_REF_PARTS).
inline constexpr uint32_t kKeyPartsMax = 32;
/// Columns of one opened index, and also its filter columns.
inline constexpr uint32_t kColumnsMax = 4096;
/// Rows that a turn keeps open at once: twice as many as a group of HandlerSocket can name.
inline constexpr size_t kOpenRowsMax = 128;
/// Tables that a thread keeps open from one turn to the next.
inline constexpr size_t kSessionTablesMax = 1000;
/// Bytes of the positions of the rows that one find_modify changes: all are found before the first
/// is changed. With an IN list, the memory by which a row that is found again is recognized counts,
/// too.
inline constexpr size_t kFoundPositionsBytesMax = size_t{64} << 20;
/// Bytes of memory for one value that a thread keeps for its next request.
inline constexpr size_t kKeptValueBytesMax = 64u << 10;
/// Comparison values of filters that a thread keeps for its next request.
inline constexpr size_t kKeptFiltersMax = 8;
/// Accounts whose rights on an index a thread has room for from the beginning.
inline constexpr size_t kRightsKeptMin = 4;
/// Accounts whose rights on an index a thread keeps at most.
inline constexpr size_t kRightsKeptMax = 256;
/// The shortest pause between two looks at the accounts in use.
inline constexpr int64_t kAccountsLookMsMin = 10;
/// The longest pause between two looks at the accounts in use.
inline constexpr int64_t kAccountsLookMsMax = 100;
/// The pause after a look at the accounts is this many times as long as the look, within
/// kAccountsLookMsMin and kAccountsLookMsMax.
inline constexpr int64_t kAccountsLookMultiple = 50;
/// Accounts for which a session keeps what audit plugins have noted about them.
inline constexpr size_t kAuditThdsMax = 16;

// What the plugins show: hot rows, use by table and account, slow requests (exec/hot_rows.h,
// exec/usage.h, exec/slow_log.h).

/// Hot rows with the most requests that a slice of ten seconds keeps.
inline constexpr size_t kHotRowsOfSlice = 256;
/// Hot rows with the longest lock waits that a slice of ten seconds keeps.
inline constexpr size_t kHotLocksOfSlice = 128;
/// Bytes that are kept of the key of a hot row.
inline constexpr size_t kHotKeyBytesMax = 128;
/// Requests that a worker looks at in a second to find hot rows.
inline constexpr uint32_t kHotSamplesPerSecond = 1000;
/// Rows that a worker has counted and not handed over yet.
inline constexpr size_t kHotRowsKeptMax = 4096;
/// Names of indexes, and of accounts, by which a worker counts requests.
inline constexpr size_t kUsageNamesMax = 4096;
/// Slow requests that are kept in memory for a plugin.
inline constexpr size_t kSlowKeptMax = 128;
/// Slow requests of one turn that are written to the server's log.
inline constexpr size_t kSlowOfTurnMax = 64;
/// Bytes that are shown of a value of a slow request.
inline constexpr size_t kSlowValueBytesMax = 64;
/// Bytes that are shown of a slow request.
inline constexpr size_t kSlowTextBytesMax = 4096;

}  // namespace rowsocket::model
