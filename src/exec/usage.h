// How much the ports of a plugin have done for each table and index, and for each account, since
// the plugin's start.
//
// Flow: each worker counts in a block of its own; a reader adds the blocks up. Adjacent runs of a
// turn (item_runs.h) that share index and account are one addition.
// Threads: a block's worker counts, without a lock unless a name is new to it; Usage is for any
// thread.
// Limits: kUsageNamesMax names of each kind in a block; what comes beyond counts for the empty
// name.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "engine/index.h"
#include "model/account.h"
#include "model/limits.h"

namespace rowsocket::exec {

struct Item;
struct Unit;
class ItemRuns;
class UsageBlock;

enum class Used : uint8_t {
  kRequests,
  kWrites,
  kRowsRead,
  kRowsChanged,
  kMerged,  ///< Writes that shared one change of their row with others.
  kErrors,
  kLockWaits,
  kLockNs,   ///< Time in which requests waited for locks.
  kWholeNs,  ///< From a request's last byte until its turn had its answers.
  kCount
};
constexpr size_t kUsedCounts = static_cast<size_t>(Used::kCount);
using UsageCounts = std::array<uint64_t, kUsedCounts>;

/// An index of a table, as clients have opened it; PRIMARY if they named none.
struct UsedIndex {
  std::string schema, table, index;
  auto operator<=>(const UsedIndex&) const = default;
};

/// An account that has used a port of this mode (PortSettings::mode). Empty user and host: all
/// clients without an account.
struct UsedAccount {
  std::string mode, user, host;
  auto operator<=>(const UsedAccount&) const = default;
};

/// The counts of one name in one block. Only the block's worker adds to them.
class UsageCells {
 public:
  void Add(const UsageCounts& counts);
  void AddTo(UsageCounts* sum) const;

 private:
  std::array<std::atomic<uint64_t>, kUsedCounts> cells_{};
};

template <typename Name>
class UsagePart {
 public:
  using Sums = std::map<Name, UsageCounts>;

  /// Only the block's worker may call it. `make_name` makes the name of a number that is new to
  /// this part of the block.
  template <typename MakeName>
  UsageCells& Find(uint64_t number, MakeName make_name) {
    if (last_ == nullptr || number != last_number_) [[unlikely]] {
      last_ = &LookUp(number, make_name);
      last_number_ = number;
    }
    return *last_;
  }
  void AddTo(Sums* sums) const;

 private:
  template <typename MakeName>
  UsageCells& LookUp(uint64_t number, MakeName& make_name);

  uint64_t last_number_ = 0;
  UsageCells* last_ = nullptr;  ///< The cells of `last_number_`; null: no number was asked for yet.
  std::unordered_map<uint64_t, UsageCells*> known_;
  mutable base::Mutex mutex_;
  std::map<Name, UsageCells> cells_ GUARDED_BY(mutex_);
};

class Usage {
 public:
  using Indexes = UsagePart<UsedIndex>::Sums;
  using Accounts = UsagePart<UsedAccount>::Sums;

  Usage() = default;
  Usage(const Usage&) = delete;
  Usage& operator=(const Usage&) = delete;

  Indexes indexes() const;
  Accounts accounts() const;

 private:
  friend class UsageBlock;
  void Enter(const UsageBlock* block);
  void Leave(const UsageBlock* block);

  mutable base::Mutex mutex_;
  std::vector<const UsageBlock*> blocks_ GUARDED_BY(mutex_);
  // What blocks that are gone have counted:
  Indexes former_indexes_ GUARDED_BY(mutex_);
  Accounts former_accounts_ GUARDED_BY(mutex_);
};

class UsageBlock {
 public:
  /// Null `usage`: nothing is counted. `mode`: PortSettings::mode.
  UsageBlock(Usage* usage, std::string mode);
  ~UsageBlock();
  UsageBlock(const UsageBlock&) = delete;
  UsageBlock& operator=(const UsageBlock&) = delete;

  /// Counts the requests of a turn that has run, whose answers were there at `answered_ns`.
  void AddTurn(const ItemRuns& runs, int64_t answered_ns);
  /// Counts a request that the lane has answered with `rows` rows, or an error.
  void AddWaited(const Item& item, const model::Account* account, uint64_t rows, bool is_error,
                 int64_t lock_ns, int64_t whole_ns);

 private:
  friend class Usage;
  void Add(const engine::Index& index, const model::Account* account, const UsageCounts& counts);
  void AddUnit(const Unit& unit, const model::Account* account, bool is_error, UsageCounts counts);

  Usage* const usage_;
  const std::string mode_;
  UsagePart<UsedIndex> indexes_;
  UsagePart<UsedAccount> accounts_;
};

}  // namespace rowsocket::exec
