// What each account may take of the ports of a plugin, so that one application cannot starve
// another: requests per second, and a share of the places in a turn or batch.
//
// Flow: BudgetOf gives the budget of an account to a connection, once. The worker spends of the
// budget for each request, before the request takes part in a turn. AccountPlaces counts the
// requests of each account in one turn or batch. A budget is a bucket that holds the requests of
// one second and fills up again as time passes. As long as something is left, a request may be
// spent, even one that counts as several; what it takes beyond the rest is owed. If no limit is
// set, no budget is asked for or kept.
// Threads: any; AccountPlaces, the owner's of the turn.
// Lifetime: as long as the workers of the plugin.
// Limits: kAccountBudgetsMax budgets; beyond that number, budgets that are full and that no
// connection has are forgotten.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "model/account.h"
#include "model/limits.h"

namespace rowsocket::exec {

/// The system variables, which may change while the server runs.
struct AccountLimitSettings {
  std::atomic<uint32_t> requests_per_second{0};  ///< 0: no limit.
  std::atomic<uint32_t> share_percent{100};      ///< 1 to 100; 100: no limit.
};

/// What is left of an account's requests.
class AccountBudget {
 public:
  /// Spends `count` requests. False: nothing is left at `now_ms`, and nothing is spent.
  bool Spend(uint32_t count, uint32_t per_second, int64_t now_ms);
  /// Whether nothing is owed or used up at `now_ms`.
  bool is_full(int64_t now_ms) const {
    return full_at_ns_.load(std::memory_order_relaxed) <= now_ms * 1'000'000;
  }

 private:
  std::atomic<int64_t> full_at_ns_{0};  ///< When the bucket is full again.
};

class AccountLimits {
 public:
  explicit AccountLimits(const AccountLimitSettings& settings) : settings_(settings) {}
  AccountLimits(const AccountLimits&) = delete;
  AccountLimits& operator=(const AccountLimits&) = delete;

  /// How many requests an account may make in a second; 0: any number.
  uint32_t requests_per_second() const {
    return settings_.requests_per_second.load(std::memory_order_relaxed);
  }
  /// How many of the places in a turn or batch one account may have.
  uint32_t places_max() const {
    const uint32_t percent = settings_.share_percent.load(std::memory_order_relaxed);
    return percent >= 100 ? model::kTurnRequestsMax : model::kTurnRequestsMax * percent / 100;
  }
  /// The budget that all connections of the user and host share, whatever role they have.
  std::shared_ptr<AccountBudget> BudgetOf(const model::Account& account, int64_t now_ms);

 private:
  void ForgetFull(int64_t now_ms) REQUIRES(mutex_);

  const AccountLimitSettings& settings_;
  base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<AccountBudget>> budgets_
      GUARDED_BY(mutex_);
};

/// The id that stands for the account of a connection without one.
inline constexpr uint64_t kNoAccount = 0;
/// The id of an account, which stands for the account if it may be gone before it is asked about
/// again.
inline uint64_t IdOf(const model::Account* account) {
  return account != nullptr ? account->id() : kNoAccount;
}

/// The places that accounts have in one turn or batch. Accounts are named by their ids.
class AccountPlaces {
 public:
  /// Begins to count an empty turn or batch. `limits` null: no account has a limit.
  void Begin(const AccountLimits* limits);
  /// How many places are left for the account. Clients without an account (kNoAccount) have no
  /// limit.
  uint32_t Left(uint64_t account);
  void Add(uint64_t account, size_t places);
  /// Whether Left has answered 0 for an account.
  bool ran_out() const { return ran_out_; }

 private:
  bool has_limit(uint64_t account) const {
    return account != kNoAccount && max_ < model::kTurnRequestsMax;
  }

  uint32_t max_ = model::kTurnRequestsMax;
  bool ran_out_ = false;
  std::vector<std::pair<uint64_t, uint32_t>> taken_;  ///< Places of each account, by its id.
};

}  // namespace rowsocket::exec
