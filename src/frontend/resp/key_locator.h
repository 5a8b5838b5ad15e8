// Which row a key of RESP means: a keyspace has the keys that begin with its prefix, the longest
// one first; then tables; then the store.
//
// Flow: BeginTurn, then Locate for each call of the turn's commands. Whether the names of a key are
// those of a table is found out when the index is opened (call_opener.h): where they are not, the
// key is put into the store then.
// Threads: one at a time. Lifetime: one for each connection; the settings outlive it. What Locate
// gives a call lies in the arena, or in the snapshot of keyspaces, which is kept for the next turn.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "frontend/resp/settings.h"
#include "frontend/resp/work.h"
#include "keyspace/keyspaces.h"

namespace rowsocket::frontend {

class RespKeyLocator {
 public:
  explicit RespKeyLocator(const RespSettings& settings) : settings_(settings) {}

  /// Takes the keyspaces as they are now. To be called before a command that is behind no request
  /// of its turn, or that is parsed again for the lane.
  void BeginTurn() {
    if (settings_.keyspaces == nullptr) return;
    const keyspace::Catalog& catalog = settings_.keyspaces->catalog;
    if (snapshot_ != nullptr && snapshot_->version == catalog.version()) return;
    former_snapshot_ = std::exchange(snapshot_, catalog.current());
  }
  /// The keyspaces as BeginTurn has taken them; null: there are none.
  const keyspace::Snapshot* snapshot() const { return snapshot_.get(); }

  /// Says which row, of which table, the key of the call is. False: `*error` says why it is none.
  /// `may_name_tables`: the client may know the names of tables.
  bool Locate(bool writes, bool may_name_tables, base::Arena& arena, RespCall* call,
              std::string* error) const;

 private:
  /// Locate for a key with the prefix of a keyspace.
  bool LocateInKeyspace(const keyspace::Keyspace& keyspace, bool writes, bool may_name_tables,
                        base::Arena& arena, RespCall* call, std::string* error) const;
  /// Locate for a key of a container; `key`: what stands behind the prefix.
  bool LocateInContainer(const keyspace::Keyspace& keyspace, std::string_view key, bool writes,
                         bool may_name_tables, base::Arena& arena, RespCall* call,
                         std::string* error) const;

  const RespSettings& settings_;
  /// What keys mean; null: there are no keyspaces. Items of a turn point into it.
  std::shared_ptr<const keyspace::Snapshot> snapshot_;
  /// The snapshot before snapshot_. The item at which a turn stops is parsed again for the lane,
  /// and may need a newer snapshot, while items before it point into this one.
  std::shared_ptr<const keyspace::Snapshot> former_snapshot_;
};

/// The key of the call is a string of the store, whatever it seemed to be.
void PutInStore(RespCall& call, base::Arena& arena);
/// MGET: a key that is a row's is no string, and is answered as one that is not there.
void HideRow(RespCall& call, base::Arena& arena);

}  // namespace rowsocket::frontend
