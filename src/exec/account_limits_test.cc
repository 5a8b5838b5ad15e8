#include "exec/account_limits.h"

#include <gtest/gtest.h>

namespace rowsocket::exec {
namespace {

using model::Account;

constexpr int64_t kNowMs = 1'000'000;

/// How many of `wanted` requests are taken.
unsigned Take(AccountBudget& budget, unsigned wanted, uint32_t per_second, int64_t now_ms) {
  unsigned taken = 0;
  for (unsigned i = 0; i < wanted; ++i) taken += budget.Spend(1, per_second, now_ms) ? 1 : 0;
  return taken;
}

class AccountLimitsTest : public ::testing::Test {
 protected:
  AccountLimitSettings settings_;
  AccountLimits limits_{settings_};
};

TEST(AccountBudgetTest, ASecondOfRequestsIsThereAtOnce) {
  for (const uint32_t per_second : {1u, 3u, 100u, 500'000u}) {
    AccountBudget budget;
    EXPECT_TRUE(budget.is_full(kNowMs));
    EXPECT_EQ(per_second, Take(budget, per_second + 10, per_second, kNowMs));
    EXPECT_FALSE(budget.is_full(kNowMs));
    EXPECT_TRUE(budget.is_full(kNowMs + 1000));
  }
}

TEST(AccountBudgetTest, RequestsComeBackWithTime) {
  AccountBudget budget;
  EXPECT_EQ(100u, Take(budget, 1000, 100, kNowMs));
  EXPECT_EQ(0u, Take(budget, 1, 100, kNowMs + 9));
  EXPECT_EQ(1u, Take(budget, 10, 100, kNowMs + 10));
  EXPECT_EQ(50u, Take(budget, 1000, 100, kNowMs + 510));
  EXPECT_EQ(100u, Take(budget, 1000, 100, kNowMs + 10'000)) << "no more than a second is saved";
}

TEST(AccountBudgetTest, NoMoreThanTheRateIsTakenHoweverOftenItIsAsked) {
  AccountBudget budget;
  unsigned taken = 0;
  for (int64_t ms = 0; ms <= 10'000; ++ms) taken += Take(budget, 5, 200, kNowMs + ms);
  EXPECT_EQ(200u + 10 * 200u, taken);
}

TEST(AccountBudgetTest, ARequestThatCountsAsSeveralIsOwed) {
  AccountBudget budget;
  EXPECT_TRUE(budget.Spend(250, 100, kNowMs));
  EXPECT_FALSE(budget.Spend(1, 100, kNowMs + 1500));
  EXPECT_TRUE(budget.Spend(1, 100, kNowMs + 1510));
}

TEST(AccountBudgetTest, WhatIsOwedEndsInTime) {
  AccountBudget budget;
  EXPECT_TRUE(budget.Spend(UINT32_MAX, 1, kNowMs));
  EXPECT_FALSE(budget.Spend(1, 1, kNowMs + model::kAccountOwedMsMax));
  EXPECT_TRUE(budget.Spend(1, 1, kNowMs + model::kAccountOwedMsMax + 1000));
}

TEST_F(AccountLimitsTest, AccountsOfOneUserAndHostShareABudget) {
  const Account one("app", "localhost"), role("app", "localhost", "role"), host("app", "%");
  const auto budget = limits_.BudgetOf(one, kNowMs);
  EXPECT_EQ(budget, limits_.BudgetOf(role, kNowMs));
  EXPECT_NE(budget, limits_.BudgetOf(host, kNowMs));
}

TEST_F(AccountLimitsTest, AUsedBudgetIsNotMadeAnewWhenItsConnectionsHaveGone) {
  const Account used("used", "%"), kept("kept", "%");
  EXPECT_EQ(5u, Take(*limits_.BudgetOf(used, kNowMs), 10, 5, kNowMs));
  const auto held = limits_.BudgetOf(kept, kNowMs);
  for (size_t i = 0; i <= model::kAccountBudgetsMax; ++i) {
    limits_.BudgetOf(Account("other" + std::to_string(i), "%"), kNowMs);
  }
  EXPECT_EQ(0u, Take(*limits_.BudgetOf(used, kNowMs), 10, 5, kNowMs));
  EXPECT_EQ(held, limits_.BudgetOf(kept, kNowMs));
}

TEST_F(AccountLimitsTest, AnAccountHasItsShareOfThePlaces) {
  const Account one("one", "%"), two("two", "%");
  AccountPlaces places;
  places.Begin(&limits_);
  EXPECT_EQ(model::kTurnRequestsMax, places.Left(one.id()));
  settings_.share_percent = 50;
  places.Begin(&limits_);
  EXPECT_EQ(model::kTurnRequestsMax / 2, places.Left(one.id()));
  EXPECT_EQ(model::kTurnRequestsMax, places.Left(kNoAccount));
  places.Add(one.id(), 100);
  places.Add(one.id(), model::kTurnRequestsMax / 2 - 101);
  places.Add(kNoAccount, 77);
  EXPECT_EQ(1u, places.Left(one.id()));
  EXPECT_EQ(model::kTurnRequestsMax / 2, places.Left(two.id()));
  EXPECT_FALSE(places.ran_out());
  places.Add(one.id(), 5);
  EXPECT_EQ(0u, places.Left(one.id()));
  EXPECT_TRUE(places.ran_out());
  places.Begin(&limits_);
  EXPECT_EQ(model::kTurnRequestsMax / 2, places.Left(one.id()));
  EXPECT_FALSE(places.ran_out());
  places.Begin(nullptr);
  EXPECT_EQ(model::kTurnRequestsMax, places.Left(one.id()));
}

}  // namespace
}  // namespace rowsocket::exec
