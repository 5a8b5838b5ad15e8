// One container: which columns of a table hold a memcached key, value, cas and time of expiry.
//
// Flow: MakeContainer turns a definition into a Container, whose `problem` says why it cannot be
// used, if it cannot; Catalog (catalog.h) publishes it.
// Threads: immutable once made, except for `state`, which is for all threads.
// Lifetime: shared; a holder may use it after the mapping has changed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "keyspace/config.h"

namespace rowsocket::keyspace {

/// Counts of the requests to a container, for `stats`; shared by all threads.
struct ContainerCounters {
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> misses{0};
  std::atomic<uint64_t> writes{0};
  std::atomic<uint64_t> deletes{0};
  std::atomic<uint64_t> errors{0};
  std::atomic<uint64_t> purged{0};
};

/// State that outlives a change of the definition, as long as the definition names the same table.
struct ContainerState {
  /// Identifies the state: no two states ever have the same serial, but a later one may have the
  /// same address.
  const uint64_t serial = NextSerial();
  ContainerCounters counters;
  /// When a delayed flush_all is due, in milliseconds since 1970; 0: no flush is delayed.
  std::atomic<int64_t> flush_at_ms{0};

 private:
  static uint64_t NextSerial() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
};

enum class CasKind : uint8_t {
  kHash,    ///< No cas column: a hash of what the row holds.
  kNumber,  ///< An integer column, as it is.
  kTime,    ///< DATETIME(6) or TIMESTAMP(6): microseconds since 1970.
};

enum class ExpiryKind : uint8_t {
  kNone,
  kSeconds,       ///< Whole seconds since 1970: an integer column, or DECIMAL without decimals.
  kFraction,      ///< Seconds since 1970 with a fraction: DECIMAL with decimals.
  kMilliseconds,  ///< Milliseconds since 1970 in an integer column; 0 and negative numbers are
                  ///< moments, too.
};

struct KeyPart {
  bool is_integer = false;
  bool pads = false;      ///< Blanks at the end of a text do not count (ColumnFacts::pads).
  size_t index_part = 0;  ///< Which part of the index this is.
};

/// The columns of an item besides its values: expiry, flags and cas.
inline constexpr size_t kItemColumnsBesidesValues = 3;

/// The positions of the cells among the opened columns; kNone: not among them.
struct Layout {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t expiry = kNone;
  uint32_t flags = kNone;
  uint32_t cas = kNone;
  uint32_t key = kNone;  ///< The first of the key columns.
  uint32_t value = 0;    ///< The first of the value columns, which are the last.
  uint32_t columns = 0;
};

struct Container {
  ContainerDefinition definition;
  std::string problem;  ///< Not empty: nothing below is valid.
  /// The problem is only that the table was locked, so that nothing is known about it yet.
  bool is_locked = false;
  std::shared_ptr<const engine::IndexPin> pin;  ///< The facts on which the indexes below depend.
  std::shared_ptr<ContainerState> state;

  char separator = '|';
  bool relaxed = false;  ///< Replies need not wait for the disk.
  CasKind cas_kind = CasKind::kHash;
  /// The largest cas that the cas column holds; for TIMESTAMP in UTC, whatever the server's time
  /// zone.
  uint64_t cas_max = UINT64_MAX;
  bool cas_max_is_utc = false;
  ExpiryKind expiry = ExpiryKind::kNone;
  bool expiry_is_nullable = false;
  int64_t expiry_step_ms = 1;  ///< The smallest difference that the column holds.
  bool has_flags = false;
  bool verifies_key = false;  ///< The key's columns may take different keys for equal.
  std::vector<KeyPart> key;   ///< In the order of key_columns.
  uint32_t values = 1;        ///< Value columns.
  bool keeps_bytes = true;    ///< Value columns return the bytes that were stored, or refuse them.
  std::string expiry_index_name;  ///< An index that begins with the column of expiry; empty: none.

  /// The unique index, opened with all columns.
  std::shared_ptr<engine::Index> full_index;
  Layout full_layout;
  /// The unique index, opened with the columns that a get without a cas needs.
  std::shared_ptr<engine::Index> get_index;
  Layout get_layout;
  /// For going through all rows: the unique index, opened with the column of expiry, if there is
  /// one, then the parts of the key in the index's order.
  std::shared_ptr<engine::Index> key_index;
  /// For going through rows by their expiry: the index of expiry, opened like key_index, with
  /// filters on the expiry. Null without such an index.
  std::shared_ptr<engine::Index> expiry_index;

  const std::string& name() const { return definition.name; }
  const std::string& title() const { return definition.title; }
  bool usable() const { return problem.empty(); }
};

/// Makes `*made`, which is never null afterwards. Returns an outcome that is not ok if nothing can
/// be said about the table now, because it is locked, or the session was killed. `before`: the last
/// container made from the same definition, or null; if the table is unchanged, the two share their
/// indexes.
engine::Outcome MakeContainer(engine::Session& session, const ContainerDefinition& definition,
                              const Options& options, std::shared_ptr<ContainerState> state,
                              const Container* before, std::shared_ptr<const Container>* made);

}  // namespace rowsocket::keyspace
