// One memcached request between its parsing and its reply: what exec::Item::detail points to.
//
// Threads: the thread that has the item.
// Lifetime: the arena of Frontend::Parse, which the editor shares.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "exec/frontend.h"
#include "frontend/memcached/counters.h"
#include "frontend/memcached/marks.h"
#include "frontend/memcached/target.h"
#include "keyspace/catalog.h"
#include "protocol/memcached/command.h"

namespace rowsocket::frontend {

/// The counts of one execution. If a request runs several times, those of the last one count.
struct MemcachedTally {
  uint32_t hits = 0;
  uint32_t misses = 0;
  uint32_t expired = 0;
  uint32_t bad_cas = 0;
  bool stored = false;
  bool failed = false;
};

struct MemcachedWork : exec::ItemDetail {
  memcached::Command command;
  /// One for each key. Only a kRequest item may use their containers: a kReply item may outlive the
  /// snapshot.
  std::span<MemcachedTarget> targets;
  std::span<const model::Value> value;  ///< The columns of Command::value, for verbs that store it.
  std::string_view refusal;             ///< Not empty: the answer, without execution.
  memcached::BinaryStatus refusal_status = memcached::BinaryStatus::kInternalError;
  /// Why the last execution has failed; empty: its error says why.
  std::string_view failure;
  bool is_nothing = false;        ///< Bytes that belong to no command: they get no reply, and are
                                  ///< not counted.
  bool lists_mechanisms = false;  ///< The answer lists how a client may log in.
  bool switches = false;          ///< `get @@name`: changes the connection's container.
  std::string_view table;         ///< What `get @@name` answers: the container's table.
  /// The number of a request that may win or change a mark; it stays when the request is parsed
  /// again.
  uint64_t serial = 0;
  int64_t flush_at_ms = 0;  ///< flush_all: when items will be dropped; 0: they were dropped at
                            ///< once.
  MemcachedTally tally;
  MemcachedMark old_mark;  ///< The mark that the first execution found and moved to another cas.

  const MemcachedTarget& target() const { return targets.front(); }
};

/// The work of an item. REQUIRES: the item is a memcached connection's, and no kRefresh.
inline MemcachedWork& MemcachedWorkOf(const exec::Item& item) {
  return *static_cast<MemcachedWork*>(item.detail);
}

/// Whether the wire calls the verb a get, whatever else the verb does.
constexpr bool IsGet(memcached::Verb verb) {
  return verb == memcached::Verb::kGet || verb == memcached::Verb::kGat;
}

}  // namespace rowsocket::frontend
