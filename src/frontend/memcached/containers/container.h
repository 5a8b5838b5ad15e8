// One container: what a memcached key, value, token and time of expiry are in one table.
//
// Flow: MakeContainer turns a definition into a Container, whose `problem` says why it cannot be
// used, if so; Catalog (catalog.h) publishes it.
// Threads: immutable once made, but for what hangs on `state`, which is for all threads.
// Lifetime: shared; whoever holds one may use it after the mapping has changed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "frontend/memcached/containers/config.h"

namespace rowsocket::containers {

/// What a container has answered; shared by all threads, so that `stats` can tell.
struct ContainerCounters {
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> misses{0};
  std::atomic<uint64_t> writes{0};
  std::atomic<uint64_t> deletes{0};
  std::atomic<uint64_t> errors{0};
  std::atomic<uint64_t> purged{0};
};

/// What outlives a change of the definition, as long as it names the same table.
struct ContainerState {
  ContainerCounters counters;
  /// When a delayed flush_all is due, in milliseconds since 1970; 0: none is.
  std::atomic<int64_t> flush_at_ms{0};
};

enum class TokenKind : uint8_t {
  kHash,    ///< No cas column: a hash of what the row holds.
  kNumber,  ///< An integer column, as it is.
  kTime,    ///< DATETIME(6) or TIMESTAMP(6): microseconds since 1970.
};

enum class ExpiryKind : uint8_t {
  kNone,
  kSeconds,   ///< An integer column of seconds since 1970.
  kFraction,  ///< The same as DECIMAL or with a fraction.
};

struct KeyPart {
  bool is_integer = false;
  bool pads = false;
  size_t index_part = 0;  ///< Which part of the index it is.
};

/// Where the cells are among the opened columns; kNone: not among them.
struct Layout {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t expiry = kNone;
  uint32_t flags = kNone;
  uint32_t token = kNone;
  uint32_t key = kNone;  ///< The first of the key columns.
  uint32_t value = 0;    ///< The first of the value columns, which are the last.
  uint32_t columns = 0;
};

struct Container {
  Definition definition;
  std::string problem;                          ///< Not empty: nothing below is of use.
  std::shared_ptr<const engine::IndexPin> pin;  ///< What the indexes below hold to.
  std::shared_ptr<ContainerState> state;

  char separator = '|';
  bool relaxed = false;  ///< Replies need not wait for the disk.
  TokenKind token = TokenKind::kHash;
  /// The largest that the cas column holds; of TIMESTAMP in UTC, whatever the server's time zone.
  uint64_t token_max = UINT64_MAX;
  bool token_max_is_utc = false;
  ExpiryKind expiry = ExpiryKind::kNone;
  bool expiry_is_nullable = false;
  int64_t expiry_step_ms = 1;  ///< What the column can tell apart.
  bool has_flags = false;
  bool verifies_key = false;  ///< The key's columns may hold what only looks the same.
  std::vector<KeyPart> key;   ///< In the order of key_columns.
  uint32_t values = 1;        ///< Value columns.
  bool keeps_bytes = true;    ///< What they are given is what they read back as, or an error.
  std::string expiry_index;   ///< An index that begins with the column of expiry.

  /// All columns; and those that a get without a token needs.
  std::shared_ptr<engine::Index> rows;
  Layout rows_layout;
  std::shared_ptr<engine::Index> reads;
  Layout reads_layout;
  /// The parts of the key in the index's order, behind the column of expiry where there is one: for
  /// those who go through all rows. By the unique index, and by that of expiry (null without one),
  /// whose finds can have filters on it.
  std::shared_ptr<engine::Index> keys;
  std::shared_ptr<engine::Index> expiring;

  const std::string& name() const { return definition.name; }
  bool usable() const { return problem.empty(); }
};

/// Never null. Outcome: busy when the table is locked at the moment; otherwise ok. `before`: what
/// was made of the same definition last, or null; where the table is as it was, they share their
/// indexes.
engine::Outcome MakeContainer(engine::Session& session, const Definition& definition,
                              const Options& options, std::shared_ptr<ContainerState> state,
                              const Container* before, std::shared_ptr<const Container>* made);

/// Names separated by any of `,;| ` and blanks.
std::vector<std::string> SplitNames(std::string_view text);

}  // namespace rowsocket::containers
