#include "exec/usage.h"

#include <algorithm>
#include <new>
#include <utility>

#include "exec/frontend.h"
#include "exec/item_runs.h"
#include "exec/unit.h"

namespace rowsocket::exec {

namespace {

uint64_t& CountOf(UsageCounts& counts, Used what) { return counts[static_cast<size_t>(what)]; }

template <typename Name>
void AddSums(const std::map<Name, UsageCounts>& from, std::map<Name, UsageCounts>* sums) {
  for (const auto& [name, counts] : from) {
    UsageCounts& sum = (*sums)[name];
    for (size_t i = 0; i < kUsedCounts; ++i) sum[i] += counts[i];
  }
}

/// The counter that the rows of a request go to.
Used RowsOf(const model::Request& request) {
  return request.is_write() ? Used::kRowsChanged : Used::kRowsRead;
}

}  // namespace

// Most counts of a turn are 0, and a loop that is not unrolled takes as long as its additions.
void UsageCells::Add(const UsageCounts& counts) {
#pragma GCC unroll 16
  for (size_t i = 0; i < kUsedCounts; ++i) {
    cells_[i].store(cells_[i].load(std::memory_order_relaxed) + counts[i],
                    std::memory_order_relaxed);
  }
}

void UsageCells::AddTo(UsageCounts* sum) const {
  for (size_t i = 0; i < kUsedCounts; ++i) {
    (*sum)[i] += cells_[i].load(std::memory_order_relaxed);
  }
}

template <typename Name>
template <typename MakeName>
UsageCells& UsagePart<Name>::LookUp(uint64_t number, MakeName& make_name) {
  const auto known = known_.find(number);
  if (known != known_.end()) return *known->second;
  // Numbers of indexes and accounts that are gone are never met again.
  if (known_.size() >= model::kUsageNamesMax) known_.clear();
  Name name = make_name();
  const base::MutexLock lock(mutex_);
  const bool has_room = cells_.size() < model::kUsageNamesMax || cells_.contains(name);
  UsageCells& cells = cells_[has_room ? std::move(name) : Name()];
  known_[number] = &cells;
  return cells;
}

template <typename Name>
void UsagePart<Name>::AddTo(Sums* sums) const {
  const base::MutexLock lock(mutex_);
  for (const auto& [name, cells] : cells_) cells.AddTo(&(*sums)[name]);
}

Usage::Indexes Usage::indexes() const {
  const base::MutexLock lock(mutex_);
  Indexes sums = former_indexes_;
  for (const UsageBlock* const block : blocks_) block->indexes_.AddTo(&sums);
  return sums;
}

Usage::Accounts Usage::accounts() const {
  const base::MutexLock lock(mutex_);
  Accounts sums = former_accounts_;
  for (const UsageBlock* const block : blocks_) block->accounts_.AddTo(&sums);
  return sums;
}

void Usage::Enter(const UsageBlock* block) {
  const base::MutexLock lock(mutex_);
  blocks_.push_back(block);
}

void Usage::Leave(const UsageBlock* block) {
  const base::MutexLock lock(mutex_);
  std::erase(blocks_, block);
  try {
    Indexes indexes;
    Accounts accounts;
    block->indexes_.AddTo(&indexes);
    block->accounts_.AddTo(&accounts);
    AddSums(indexes, &former_indexes_);
    AddSums(accounts, &former_accounts_);
  } catch (const std::bad_alloc&) {  // What the block has counted is lost.
  }
}

UsageBlock::UsageBlock(Usage* usage, std::string mode) : usage_(usage), mode_(std::move(mode)) {
  if (usage_ != nullptr) usage_->Enter(this);
}

UsageBlock::~UsageBlock() {
  if (usage_ != nullptr) usage_->Leave(this);
}

void UsageBlock::Add(const engine::Index& index, const model::Account* account,
                     const UsageCounts& counts) {
  try {
    indexes_
        .Find(index.serial(),
              [&] {
                const engine::IndexNames& names = index.names();
                return UsedIndex{names.db, names.table,
                                 names.index.empty() ? "PRIMARY" : names.index};
              })
        .Add(counts);
    accounts_
        .Find(account == nullptr ? 0 : account->id(),
              [&] {
                return account == nullptr ? UsedAccount{mode_, "", ""}
                                          : UsedAccount{mode_, account->user(), account->host()};
              })
        .Add(counts);
  } catch (const std::bad_alloc&) {  // The requests are not counted.
  }
}

void UsageBlock::AddTurn(const ItemRuns& runs, int64_t answered_ns) {
  if (usage_ == nullptr) return;
  const ItemRun* first = nullptr;  // The first of the runs that `counts` adds up.
  UsageCounts counts{};
  for (const ItemRun& run : runs) {
    if (run.index == nullptr) continue;
    const bool goes_on = first != nullptr && run.unit == nullptr && run.index == first->index &&
                         run.account == first->account;
    if (!goes_on) {
      if (first != nullptr) Add(*first->index, first->account, counts);
      first = nullptr;
      counts = {};
    }
    CountOf(counts, Used::kWholeNs) +=
        static_cast<uint64_t>(answered_ns - run.since_ns) * run.items;
    CountOf(counts, Used::kLockWaits) += run.lock_ns != 0 ? 1 : 0;
    CountOf(counts, Used::kLockNs) += static_cast<uint64_t>(run.lock_ns);
    if (run.unit != nullptr) {
      AddUnit(*run.unit, run.account, run.errors != 0, counts);
      continue;
    }
    first = goes_on ? first : &run;
    CountOf(counts, Used::kRequests) += run.items;
    CountOf(counts, Used::kErrors) += run.errors;
    CountOf(counts, Used::kWrites) += run.writes;
    CountOf(counts, Used::kMerged) += run.merged;
    CountOf(counts, Used::kRowsRead) += run.rows_read;
    CountOf(counts, Used::kRowsChanged) += run.rows_changed;
  }
  if (first != nullptr) Add(*first->index, first->account, counts);
}

// `counts` has the unit as a whole, which counts for the index of its first request. An error
// counts for the request that has failed, or for the first: if the commit of a unit that was
// applied, or has stopped, has failed, the unit is an error as a whole.
void UsageBlock::AddUnit(const Unit& unit, const model::Account* account, bool is_error,
                         UsageCounts counts) {
  const bool has_failed = unit.end == Unit::End::kFailed;
  const size_t failed = has_failed ? std::max(unit.ended_at, 1u) - 1 : 0;
  for (size_t i = 0; i < unit.requests.size(); ++i) {
    const UnitRequest& one = unit.requests[i];
    ++CountOf(counts, Used::kRequests);
    if (one.request.is_write()) ++CountOf(counts, Used::kWrites);
    if (!is_error && unit.end == Unit::End::kApplied)
      CountOf(counts, RowsOf(one.request)) += one.rows;
    if ((is_error || has_failed) && i == failed) ++CountOf(counts, Used::kErrors);
    Add(*one.index, account, std::exchange(counts, {}));
  }
}

void UsageBlock::AddWaited(const Item& item, const model::Account* account, uint64_t rows,
                           bool is_error, int64_t lock_ns, int64_t whole_ns) {
  const bool is_counted =
      usage_ != nullptr && item.kind == Item::Kind::kRequest && item.index != nullptr;
  if (!is_counted) return;
  UsageCounts counts{};
  CountOf(counts, Used::kLockWaits) = 1;
  CountOf(counts, Used::kLockNs) = static_cast<uint64_t>(lock_ns);
  CountOf(counts, Used::kWholeNs) = static_cast<uint64_t>(whole_ns);
  if (item.unit != nullptr) return AddUnit(*item.unit, account, is_error, counts);
  CountOf(counts, Used::kRequests) = 1;
  CountOf(counts, Used::kErrors) = is_error ? 1 : 0;
  CountOf(counts, Used::kWrites) = item.request.is_write() ? 1 : 0;
  CountOf(counts, RowsOf(item.request)) = rows;
  Add(*item.index, account, counts);
}

}  // namespace rowsocket::exec
