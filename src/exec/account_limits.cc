#include "exec/account_limits.h"

#include <algorithm>

namespace rowsocket::exec {

namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

}  // namespace

bool AccountBudget::Spend(uint32_t count, uint32_t per_second, int64_t now_ms) {
  const int64_t now_ns = now_ms * 1'000'000;
  const int64_t costs_ns = kNsPerSecond / per_second;
  // An account owes no more than a limit, so that a raised rate takes effect before long, whatever
  // it owed under the lower one.
  const int64_t owed_max_ns = now_ns + kNsPerSecond + model::kAccountOwedMsMax * 1'000'000;
  int64_t full_at_ns = full_at_ns_.load(std::memory_order_relaxed);
  for (;;) {
    const int64_t begin_ns = std::max(full_at_ns, now_ns);
    if (begin_ns + costs_ns > now_ns + kNsPerSecond) return false;
    const int64_t after_ns = std::min(begin_ns + count * costs_ns, owed_max_ns);
    if (full_at_ns_.compare_exchange_weak(full_at_ns, after_ns, std::memory_order_relaxed)) {
      return true;
    }
  }
}

std::shared_ptr<AccountBudget> AccountLimits::BudgetOf(const model::Account& account,
                                                       int64_t now_ms) {
  const base::MutexLock lock(mutex_);
  std::shared_ptr<AccountBudget>& budget = budgets_[{account.user(), account.host()}];
  if (budget != nullptr) return budget;
  budget = std::make_shared<AccountBudget>();
  std::shared_ptr<AccountBudget> made = budget;
  if (budgets_.size() > model::kAccountBudgetsMax) ForgetFull(now_ms);
  return made;
}

// A budget that is not full is kept: otherwise an account would get a new one by connecting anew.
void AccountLimits::ForgetFull(int64_t now_ms) {
  std::erase_if(budgets_, [now_ms](const auto& each) {
    return each.second.use_count() == 1 && each.second->is_full(now_ms);
  });
}

void AccountPlaces::Begin(const AccountLimits* limits) {
  taken_.clear();
  max_ = limits != nullptr ? limits->places_max() : model::kTurnRequestsMax;
  ran_out_ = false;
}

uint32_t AccountPlaces::Left(uint64_t account) {
  if (!has_limit(account)) return model::kTurnRequestsMax;
  for (const auto& [id, taken] : taken_) {
    if (id != account) continue;
    ran_out_ = ran_out_ || taken >= max_;
    return taken < max_ ? max_ - taken : 0;
  }
  return max_;
}

void AccountPlaces::Add(uint64_t account, size_t places) {
  if (!has_limit(account) || places == 0) return;
  for (auto& [id, taken] : taken_) {
    if (id != account) continue;
    taken += static_cast<uint32_t>(places);
    return;
  }
  taken_.emplace_back(account, static_cast<uint32_t>(places));
}

}  // namespace rowsocket::exec
