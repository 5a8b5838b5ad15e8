// Which rows are asked for most, and waited for longest, of late.
//
// Each worker looks at some of its requests: at all of them while there are few, and of many at
// about kHotSamplesPerSecond a second, chosen at random. One that is chosen out of n counts for n.
// Each lock wait is counted. Slices of ten seconds keep the rows with the highest counts by the
// Space-Saving algorithm (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k
// Elements in Data Streams, 2005).
//
// Errors: a row that was asked for n times is shown with n + e +- 2 * sqrt(n * w) in 19 of 20
// cases, w being how many requests a chosen one counts for, and e at most `overcount`: the count of
// the row that it has pushed out of the slice. The time of a row's lock waits is too long by as
// much as that of the row that it has pushed out, whose number of lock waits is lost.
// Threads: a sampler from its worker's thread; HotRows from any.
// Limits: kHotRowsOfSlice rows by requests and kHotLocksOfSlice by lock waits in each of 61 slices;
// a key is shown up to kHotKeyBytesMax bytes. About 11 MB for a plugin when all are full. A sampler
// has kHotRowsKeptMax rows at most, which requests of very many keys reach: the keys beyond are not
// counted.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "exec/row_name.h"
#include "model/limits.h"

namespace rowsocket::exec {

struct Item;
struct TurnItem;
class Turn;

/// A row as operators name it.
struct HotRowName {
  std::string schema, table, index, key;
  auto operator<=>(const HotRowName&) const = default;
};

/// The text that users who may not see a row's key get in its place: a keyed hash. A row keeps its
/// hash while the library stays loaded: until the server ends, or at the soonest until its last
/// plugin is uninstalled. Whoever knows some keys and their hashes learns no other key.
std::string HiddenKey(const HotRowName& name);

struct HotRowCounts {
  uint64_t requests = 0;
  uint64_t merged = 0;      ///< Requests that shared one change of the row.
  uint64_t lock_waits = 0;  ///< The lock waits of the row whose place in a slice it has taken are
                            ///< not counted.
  uint64_t lock_ns = 0;     ///< Includes the time of the row whose place in a slice it has taken.
  uint64_t overcount = 0;   ///< By how many `requests` may be too high because rows left a slice.

  HotRowCounts& operator+=(const HotRowCounts& other);
};

/// The rows of a slice with the highest counts, by one measure. Counts only rise.
class HotRowSketch {
 public:
  using Measure = uint64_t HotRowCounts::*;
  struct Hash {
    size_t operator()(const HotRowName& name) const;
  };
  using Rows = std::unordered_map<HotRowName, HotRowCounts, Hash>;

  HotRowSketch(size_t rows_max, Measure measure) : rows_max_(rows_max), measure_(measure) {}

  void Add(const HotRowName& name, const HotRowCounts& counts);
  const Rows& rows() const { return rows_; }
  void Clear();

 private:
  /// A row, and the count that it had when it was put on the heap: at most the row's present count.
  struct Rank {
    uint64_t count;
    Rows::iterator row;
    /// The heap's first rank is the lowest.
    bool operator<(const Rank& other) const { return count > other.count; }
  };

  void PutOnHeap(Rows::iterator row);
  Rank TakeLowest();
  void ReplaceLowest(const HotRowName& name, const HotRowCounts& counts);

  const size_t rows_max_;
  const Measure measure_;
  Rows rows_;
  std::vector<Rank> heap_;  ///< One for each of `rows_`.
};

class HotRows {
 public:
  using Rows = std::vector<std::pair<HotRowName, HotRowCounts>>;
  static constexpr int64_t kSliceMs = 10'000;
  static constexpr size_t kSlices = 61;  ///< The one under way, and those of the longest window.

  HotRows();

  void Add(const Rows& rows, int64_t now_ms);
  /// The rows with the most requests, merged requests, lock waits or lock time in the slice under
  /// way and as many before it as `seconds` have; kTop of each at most.
  Rows Top(int64_t seconds, int64_t now_ms);
  static constexpr size_t kTop = 100;
  /// The rows with the most requests in the slice that ended last, from the most; kTop at most.
  Rows OfLastSlice(int64_t now_ms);
  void Clear();

 private:
  struct Slice {
    int64_t number = -1;  ///< Which stretch of time the slice counts; -1: the slice is empty.
    HotRowSketch by_requests{model::kHotRowsOfSlice, &HotRowCounts::requests};
    HotRowSketch by_locks{model::kHotLocksOfSlice, &HotRowCounts::lock_ns};
  };

  /// What is kept of a slice: a row may be there twice, with its requests and its lock waits.
  Rows RowsOfSlice(int64_t number);

  base::Mutex mutex_;
  std::vector<Slice> slices_ GUARDED_BY(mutex_);
};

/// What one worker counts of the rows of its requests, until it hands the counts over to HotRows.
class HotRowSampler {
 public:
  /// Null `rows`: the sampler counts nothing.
  explicit HotRowSampler(HotRows* rows) : rows_(rows) {}

  /// Looks at some of the items of a turn that has run.
  void AddTurn(const Turn& turn, const std::vector<TurnItem>& items);
  /// Counts that a request has waited for a row in the lane. `is_handed_back`: the lane has not
  /// executed the request, which a turn will do.
  void AddLockWait(const Item& item, int64_t ns, bool is_handed_back);
  /// Hands the counts over if it is time for that. Call once a round.
  void Flush(int64_t now_ms);
  /// The number of rows with counts to hand over.
  size_t kept() const { return kept_.size(); }

 private:
  /// The first value of many_kept_ after each Flush.
  static constexpr size_t kManyKept = 200;

  /// Draws how many items are passed over before one is chosen.
  uint64_t DrawPassedOver();
  void Look(const Turn& turn, const TurnItem& item);
  void Keep(const RowName& row, const HotRowCounts& counts);

  HotRows* const rows_;
  HotRows::Rows kept_;
  std::minstd_rand random_{1};
  /// How many items are to be passed over, as drawn for items_per_sample_.
  uint64_t until_next_ = 0;
  uint32_t items_per_sample_ = 1;  ///< A chosen item counts for this many.
  uint64_t items_ = 0;             ///< Items of turns since the last Flush.
  size_t many_kept_ = kManyKept;   ///< From this many rows on, the sampler looks at fewer items.
  int64_t flushed_ms_ = 0;
};

}  // namespace rowsocket::exec
