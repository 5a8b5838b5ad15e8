// Which row a key of RESP means. The keyspace with the longest prefix of the key has it; if there
// is none, the key may name a row of a table; otherwise it is the store's.
//
// Flow: BeginTurn, then Locate for each call of the turn's commands. Whether a key names a table is
// found out only when the index is opened (call_opener.h): if it does not, the key goes to the
// store.
// Threads: one at a time.
// Lifetime: one for each connection; what the port shares outlives it. What Locate gives a call
// lies in the arena, or in the snapshot of keyspaces, which lives beyond the turn.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "frontend/resp/shared.h"
#include "frontend/resp/work.h"
#include "keyspace/keyspaces.h"

namespace rowsocket::frontend {

class RespKeyLocator {
 public:
  explicit RespKeyLocator(const RespShared& shared) : shared_(shared) {}

  /// Takes the present keyspaces. Call it before a command that is the first of its turn, or that
  /// is parsed again for the lane.
  void BeginTurn() {
    if (shared_.keyspaces == nullptr) return;
    const keyspace::Catalog& catalog = shared_.keyspaces->catalog;
    if (snapshot_ != nullptr && snapshot_->version == catalog.version()) return;
    former_snapshot_ = std::exchange(snapshot_, catalog.current());
  }
  /// The keyspaces that BeginTurn has taken; null: there are none.
  const keyspace::Snapshot* snapshot() const { return snapshot_.get(); }

  /// Whether the keyspaces have been read, or there are none. If they are not, a key could be taken
  /// for that of another table: `*error` refuses the command then.
  bool KnowsKeyspaces(std::string* error) const;
  /// Finds out which row of which table the key of the call names. False: `*error` says why none.
  /// `may_name_tables`: the client may know the names of tables.
  bool Locate(bool writes, bool may_name_tables, base::Arena& arena, RespCall* call,
              std::string* error) const;

 private:
  /// Locate for a key with the prefix of a keyspace.
  bool LocateInKeyspace(const keyspace::Keyspace& keyspace, bool writes, bool may_name_tables,
                        base::Arena& arena, RespCall* call, std::string* error) const;
  /// Locate for a key of a container; `key`: what comes after the prefix.
  bool LocateInContainer(const keyspace::Keyspace& keyspace, std::string_view key, bool writes,
                         bool may_name_tables, base::Arena& arena, RespCall* call,
                         std::string* error) const;

  const RespShared& shared_;
  /// What keys mean; null: there are no keyspaces. Items of a turn point into it.
  std::shared_ptr<const keyspace::Snapshot> snapshot_;
  /// The snapshot before snapshot_. The item at which a turn stops is parsed again for the lane,
  /// and may need a newer snapshot, while items before it point into this one.
  std::shared_ptr<const keyspace::Snapshot> former_snapshot_;
};

/// The error of a command that the policies of containers do not allow; empty: they allow it.
std::string RefusalByPolicy(const RespCall& call, bool writes, const keyspace::Options& options);
/// Makes the key of the call a string of the store, whatever it seemed to be.
void PutInStore(RespCall& call, base::Arena& arena);
/// MGET: makes the key of a row absent, because it is no string.
void HideRow(RespCall& call, base::Arena& arena);

}  // namespace rowsocket::frontend
