// Removes the expired rows of one container, a chunk at a time.
//
// Flow: a Round finds rows that have expired by a consistent read, and deletes each by an edit that
// looks at the locked row again, all in one transaction, unless a row that is locked costs that.
// Rows that stay (a foreign key refers to them, another session has locked them, their key has a
// NULL) are passed over: the next round goes on behind the last row that this one looked at, until
// the end, and then from the front again. A moment of which many rows stay is left out for a while.
// Threads: one owner. Limits: rows_max rows are tried in a round; where no index begins with the
// column of expiry, kPurgeScanRows rows are looked at. kPurgeStuckMomentsMax moments are left out.
// Errors: an error of the table, and not of a row, ends the round; the next round tries again
// there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/session.h"
#include "keyspace/found_key.h"

namespace rowsocket::keyspace {

class Purge {
 public:
  struct Done {
    uint64_t deleted = 0;
    bool has_more = false;  ///< There may be more expired rows.
  };

  Done Round(engine::Session& session, const Container& container, int64_t now_ms, size_t rows_max);

 private:
  /// Where the next round begins. Rows with equal expiry have no order in an index of expiry, so
  /// that a position in it is a moment, and how many rows of that moment to leave out.
  struct Position {
    std::optional<FoundKey> last;  ///< The last row looked at; none: the front.
    uint64_t left_behind = 0;      ///< Rows with the expiry of `last` that stay.
    bool is_past_zero = false;     ///< Behind the rows that never expire.
    bool is_past_moment = false;   ///< Behind all rows with the expiry of `last`.
  };
  /// A moment of which kPurgeStuckRows rows or more have stayed, and for how long it is left out.
  struct StuckMoment {
    std::optional<std::string> expiry;
    int64_t since_ms = 0;
    int64_t pause_ms = 0;
  };
  /// Rows that were looked at, in the index's order.
  struct Chunk {
    std::vector<FoundKey> rows;
    std::vector<bool> is_gone;
    bool is_last = false;  ///< No rows follow.
    /// The row that follows, where it is one of a moment that is left out.
    std::optional<FoundKey> left_out;
  };

  /// False on an error.
  bool Find(engine::Session& session, const Container& container, int64_t now_ms, size_t rows_max,
            Chunk* chunk);
  engine::Outcome FindByExpiry(engine::Session& session, const Container& container, int64_t now_ms,
                               size_t rows_max, Chunk* chunk);
  engine::Outcome FindUntil(engine::Session& session, const Container& container,
                            const model::Filter& until, size_t limit, KeyCollector& found);
  engine::Outcome FindByKey(engine::Session& session, const Container& container, int64_t now_ms,
                            size_t rows_max, Chunk* chunk);
  void GoOnBehind(const Container& container, const Chunk& chunk, const Position& before,
                  int64_t now_ms);
  /// Notes that a pass has been at all rows with the expiry of `row`, of which `left_behind` stay.
  void EndMoment(const FoundKey& row, uint64_t left_behind, int64_t now_ms);
  bool IsLeftOut(const FoundKey& row, int64_t now_ms) const;
  /// Ends the rows before the first one of a moment that is left out, which goes into the chunk.
  /// Whether there is one.
  bool EndBeforeLeftOut(int64_t now_ms, std::vector<FoundKey>* rows, Chunk* chunk) const;

  Position position_;
  std::vector<StuckMoment> stuck_;  ///< Only where there is an index of expiry.
  /// A round tries rows_max / parts_ rows: twice the parts after rows that were too much for one
  /// transaction, half after a success.
  size_t parts_ = 1;
  uint64_t index_serial_ = 0;  ///< Serial of the index that position_ belongs to.
};

}  // namespace rowsocket::keyspace
