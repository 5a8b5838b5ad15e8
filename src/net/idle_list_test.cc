#include "net/idle_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace rowsocket::net {
namespace {

struct Member : IdleLink {
  int64_t last_ms = 0;  // the true last activity
};

TEST(IdleList, ExpiresInOrderOfActivity) {
  IdleList<Member> list(1600);
  ASSERT_EQ(100, list.slack_ms());
  Member a, b, c;
  list.Insert(a, 0);
  list.Insert(b, 10);
  list.Insert(c, 20);
  list.Touch(a, 500);

  EXPECT_EQ(nullptr, list.Expired(1709));
  EXPECT_EQ(&b, list.Expired(1710));
  b.Unlink();
  EXPECT_EQ(nullptr, list.Expired(1719));
  EXPECT_EQ(&c, list.Expired(1720));
  c.Unlink();
  EXPECT_EQ(nullptr, list.Expired(2199));
  EXPECT_EQ(&a, list.Expired(2200));
  a.Unlink();
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(nullptr, list.Expired(1'000'000));
}

TEST(IdleList, TouchWithinTheSlackCostsNothing) {
  IdleList<Member> list(1600);
  Member a, b;
  list.Insert(a, 0);
  list.Insert(b, 0);
  list.Touch(a, 100);
  EXPECT_EQ(0, a.active_ms());
  list.Touch(a, 101);
  EXPECT_EQ(101, a.active_ms());
  EXPECT_EQ(&b, list.Expired(1700));
}

TEST(IdleList, NeverTooEarlyAndAtMostTheSlackTooLate) {
  constexpr int64_t kTimeoutMs = 1000;
  std::mt19937 random(7);
  IdleList<Member> list(kTimeoutMs);
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < 50; ++i) {
    members.push_back(std::make_unique<Member>());
    list.Insert(*members.back(), 0);
  }
  size_t expired_count = 0;
  for (int64_t now_ms = 0; now_ms < 20'000; ++now_ms) {
    while (Member* expired = list.Expired(now_ms)) {
      ASSERT_GE(now_ms - expired->last_ms, kTimeoutMs);
      expired->Unlink();
      ++expired_count;
    }
    for (const auto& member : members) {
      if (member->linked()) {
        ASSERT_LE(now_ms - member->last_ms, kTimeoutMs + list.slack_ms());
      }
    }
    // The first members are active more often than the last members, which have no activity for
    // long at times.
    const size_t chosen = std::min(random() % members.size(), random() % members.size());
    if (random() % 20 == 0 && members[chosen]->linked()) {
      members[chosen]->last_ms = now_ms;
      list.Touch(*members[chosen], now_ms);
    }
  }
  EXPECT_GT(expired_count, 10u);
}

TEST(IdleList, ZeroMeansNever) {
  IdleList<Member> list(0);
  Member a;
  list.Insert(a, 0);
  EXPECT_EQ(nullptr, list.Expired(INT64_MAX / 2));
  list.SetTimeout(160);
  EXPECT_EQ(&a, list.Expired(170));
}

TEST(IdleList, ExpiresWhenTimeoutAndSlackHavePassed) {
  IdleList<Member> list(1600);
  Member a;
  list.Insert(a, 1000);
  EXPECT_EQ(nullptr, list.Expired(1000 + 1699));
  EXPECT_EQ(&a, list.Expired(1000 + 1700));
}

TEST(IdleList, MemberLeavesWhenItDies) {
  IdleList<Member> list(16);
  Member stays;
  {
    Member goes;
    list.Insert(goes, 0);
    list.Insert(stays, 0);
  }
  EXPECT_EQ(&stays, list.Expired(1000));
  stays.Unlink();
  EXPECT_TRUE(list.empty());
}

TEST(IdleList, AMemberIsPutInAsActiveLongAgo) {
  IdleList<Member> list(1600);
  Member a, b, c, d;
  list.Insert(a, 10);
  list.Insert(b, 20);
  list.InsertInOrder(c, 15);
  list.InsertInOrder(d, 5);
  for (Member* const member : {&d, &a, &c, &b}) {
    EXPECT_EQ(nullptr, list.Expired(member->active_ms() + 1699));
    EXPECT_EQ(member, list.Expired(member->active_ms() + 1700));
    member->Unlink();
  }
  EXPECT_TRUE(list.empty());
}

TEST(IdleList, ACrowdThatWasActiveLaterIsNotPassed) {
  constexpr int kCrowd = 100'000;
  IdleList<Member> list(1600);
  std::vector<Member> crowd(kCrowd);
  for (Member& member : crowd) list.Insert(member, 10);
  Member late;
  list.InsertInOrder(late, 5);
  for (int i = 0; i < kCrowd / 2; ++i) {
    EXPECT_NE(&late, list.Expired(2000));
    list.Expired(2000)->Unlink();
  }
  int before_late = 0;
  for (; list.Expired(2000) != &late; ++before_late) list.Expired(2000)->Unlink();
  EXPECT_GT(before_late, 0);
}

TEST(IdleList, MovesBetweenLists) {
  IdleList<Member> authenticating(160), idle(1600);
  Member a;
  authenticating.Insert(a, 0);
  idle.Insert(a, 10);
  EXPECT_TRUE(authenticating.empty());
  EXPECT_FALSE(authenticating.Holds(a));
  EXPECT_TRUE(idle.Holds(a));
  EXPECT_EQ(nullptr, idle.Expired(500));
  EXPECT_EQ(&a, idle.Expired(1710));
}

TEST(IdleList, TouchTakesAMemberOutOfAnotherListAtOnce) {
  IdleList<Member> authenticating(160), idle(16'000);
  Member a;
  authenticating.Insert(a, 0);
  idle.Touch(a, 1);  // touched again less than the slack later
  EXPECT_TRUE(authenticating.empty());
  EXPECT_EQ(nullptr, idle.Expired(10'000));
  EXPECT_EQ(&a, idle.Expired(17'001));
}

TEST(IdleList, ListMayDieFirst) {
  Member a;
  {
    IdleList<Member> list(16);
    list.Insert(a, 0);
  }
  EXPECT_FALSE(a.linked());
}

}  // namespace
}  // namespace rowsocket::net
