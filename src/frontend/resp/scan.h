// Commands on many keys: SCAN and KEYS over the store, a keyspace or the rows of a table, DBSIZE,
// RANDOMKEY, FLUSHDB and FLUSHALL, and the section keyspace of INFO.
//
// Each SCAN is one find of COUNT rows after the last key that was listed, so that it takes the same
// memory and time however many rows there are. Keys come in the order of the index: a key that
// exists from the first SCAN to the last is listed once.
//
// An index that is not unique is not listed, because the next page would leave out rows with the
// last key; nor is an index on a prefix of a column, because whole values, of any length, would be
// read.
//
// Threads: any; nothing is kept but the port's cursors, which have a lock.
// Errors: as in rows.h.
// Limits: kRespScanRowsMax rows of one command, and fewer for a SCAN with a long pattern
// (kRespScanPatternBytesMax) or with long keys (kRespMatchStepsMax), beyond which KEYS is refused;
// kRespScannedBytesMax bytes of their keys.
#pragma once

#include <string>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/cursors.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// What SCAN, KEYS, DBSIZE, RANDOMKEY, FLUSHDB, FLUSHALL and INFO are about.
struct RespScan {
  RespCursors* cursors = nullptr;
  std::string_view pattern = "*";
  std::string_view type;      ///< `string`, `hash`; empty: any.
  std::string_view prefix;    ///< What clients write before the key of a row.
  std::string_view database;  ///< The store's database, in digits; empty: all of them.
  uint64_t cursor = 0;
  uint64_t rows = 0;           ///< How many rows the call looks at, at most.
  std::string_view space;      ///< Identifies what is scanned: a cursor of another space is not
                               ///< accepted.
  bool lists_nothing = false;  ///< No scanned key can have the type that is asked for.
  const keyspace::Snapshot* keyspaces = nullptr;  ///< The server's keyspaces; null: it has none.
  /// The keyspace whose keys are listed; null: those of the store or of a table are.
  const keyspace::Keyspace* keyspace = nullptr;
};

/// Takes the options of a command, and the keyspace or table that its pattern names, if it names
/// one. Returns an empty text, or an error. `schema`, `database`, `keyspaces`: the connection's;
/// the last may be null.
std::string_view TakeScan(std::string_view schema, std::string_view database, RespCursors& cursors,
                          const keyspace::Snapshot* keyspaces, base::Arena& arena, RespCall* call);
/// Whether commands take the key for one of the keyspace, the table or the store that is scanned:
/// it may begin with the prefix of another keyspace. Such keys are not listed, because a client
/// that deletes what it was told would delete other rows.
bool MeansItsRow(const RespScan& scan, std::string_view key);
void NameScanned(const RespCall& call, engine::IndexNames* names);
std::string_view PrepareScan(RespCall& call, base::Arena& arena);
engine::Outcome ExecuteScan(RespWork& work, const RespCall& call, size_t reply_bytes_max,
                            engine::Session& session, base::Buffer& out);
/// RANDOMKEY: appends a key of the database, or nil if it has none.
engine::Outcome ExecuteRandomKey(RespWork& work, const RespCall& call, engine::Session& session,
                                 base::Buffer& out);
/// Appends INFO's lines about how many keys each database of the store has, and how many of them
/// expire: exact numbers for a database of up to kRespInfoKeysMax keys, otherwise by the statistics
/// of the table. On an error nothing is appended.
engine::Outcome CountDatabases(const RespCall& call, engine::Session& session, std::string* lines);

}  // namespace rowsocket::frontend
