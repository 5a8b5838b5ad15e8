// Removes the expired rows of one container, a chunk at a time.
//
// Flow: a Round finds expired rows by a consistent read, and deletes each by an edit that looks at
// the locked row again. All edits are one transaction, unless a row that another session has locked
// costs that. Rows that stay (a foreign key refers to them, another session has locked them, their
// key has a NULL) are skipped: the next round goes on after the last row that this one looked at,
// and after the end it begins anew. A moment of which many rows stay is left out for a while.
// Threads: one owner.
// Limits: a round tries rows_max rows; if no index begins with the column of expiry, it looks at
// kPurgeScanRows rows. kPurgeStuckMomentsMax moments are left out.
// Errors: an error of the table, and not of a row, ends the round, whether rows were being found or
// deleted; the next round goes on there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/session.h"
#include "keyspace/found_key.h"

namespace rowsocket::keyspace {

class Purge {
 public:
  struct Done {
    uint64_t deleted = 0;
    bool has_more = false;  ///< There may be more expired rows.
    /// The error of the table that has ended the round while rows were being deleted.
    model::ErrorCode ended_by = model::ErrorCode::kNone;
  };

  Done Round(engine::Session& session, const Container& container, int64_t now_ms, size_t rows_max);

 private:
  /// Where the next round begins. Rows with equal expiry have no order in an index of expiry, so a
  /// position in it is a moment, and the number of rows of that moment to skip.
  struct Position {
    std::optional<FoundKey> last;  ///< The last row looked at; without a value: begin at the front.
    uint64_t rows_staying = 0;     ///< Rows with the expiry of `last` that stay.
    bool is_past_zero = false;     ///< The rows that never expire are passed.
    bool is_past_moment = false;   ///< All rows with the expiry of `last` are passed.
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
    /// The row that follows, if its moment is left out.
    std::optional<FoundKey> left_out;
  };

  /// Finds the next chunk. False on an error.
  bool Find(engine::Session& session, const Container& container, int64_t now_ms, size_t rows_max,
            Chunk* chunk);
  engine::Outcome FindByExpiry(engine::Session& session, const Container& container, int64_t now_ms,
                               size_t rows_max, Chunk* chunk);
  engine::Outcome FindUntil(engine::Session& session, const Container& container,
                            const model::Filter& until, size_t limit, KeyCollector& found);
  engine::Outcome FindByKey(engine::Session& session, const Container& container, int64_t now_ms,
                            size_t rows_max, Chunk* chunk);
  void GoOnAfter(const Container& container, const Chunk& chunk, const Position& before,
                 int64_t now_ms);
  /// Notes that a pass has tried all rows with the expiry of `row`, of which `rows_staying` stay.
  void EndMoment(const FoundKey& row, uint64_t rows_staying, int64_t now_ms);
  bool IsLeftOut(const FoundKey& row, int64_t now_ms) const;
  /// Cuts the rows before the first one whose moment is left out; that row goes into the chunk.
  /// Returns whether there is one.
  bool EndBeforeLeftOut(int64_t now_ms, std::vector<FoundKey>* rows, Chunk* chunk) const;

  Position position_;
  std::vector<StuckMoment> stuck_;  ///< Only if there is an index of expiry.
  /// A round tries rows_max / parts_ rows. parts_ doubles when the rows were too much for one
  /// transaction, and halves after a success.
  size_t parts_ = 1;
  uint64_t index_serial_ = 0;  ///< Serial of the index to which position_ belongs.
};

}  // namespace rowsocket::keyspace
