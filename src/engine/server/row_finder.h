// The rows that a find names: key, IN list, filters, offset and limit; one at a time.
//
// Flow: Prepare, then Next until it returns HA_ERR_END_OF_FILE. The row is in record[0].
// Threads: the session's.
// Errors: protocol errors from Prepare; the handler's numbers from Next.
#pragma once

#include <deque>
#include <vector>

#include "engine/server/key_scan.h"

namespace rowsocket::engine::server {

class RowFinder {
 public:
  /// Prepares to find the rows of `find`, which must live until the last Next. REQUIRES: as
  /// KeyScan::Prepare.
  model::ErrorCode Prepare(THD* thd, OpenTable& open, IndexState& index, const model::Find& find);

  int Next();

  /// Prepares the filters of `find` alone, for a row that is in record[0] already.
  model::ErrorCode PrepareFilters(THD* thd, OpenTable& open, IndexState& index,
                                  const model::Find& find);
  /// Whether the row in record[0] meets the filters.
  bool Passes() { return ApplyFilters() == Verdict::kTake; }

  /// Whether no second row can come, so that the first may be changed at once.
  bool is_single_row() const {
    return !find_->has_in && !scan_.merges_partitions() &&
           (find_->limit == 1 || scan_.is_single_row());
  }
  /// Puts the position of the row in record[0] into handler::ref.
  void StorePosition() { scan_.StorePosition(); }

 private:
  enum class Verdict : uint8_t { kTake, kSkip, kStop };

  model::ErrorCode PrepareFilters();
  /// The error of a filter's value that does not suit its column. REQUIRES: PrepareFilters.
  model::ErrorCode CheckFilters() const;
  model::ErrorCode PrepareScan();
  int NextCandidate();
  int NextOfInList();
  Verdict ApplyFilters();

  THD* thd_ = nullptr;
  OpenTable* open_ = nullptr;
  IndexState* index_ = nullptr;
  const model::Find* find_ = nullptr;
  KeyScan scan_;
  std::deque<ComparisonValue>
      filters_;  ///< One for each filter, and some left from earlier requests.
  std::vector<model::Value> in_key_;
  size_t in_next_ = 0;
  uint64_t skipped_ = 0;
  uint64_t taken_ = 0;
  bool started_ = false;
};

}  // namespace rowsocket::engine::server
