// Requests of several accounts: judged one by one, executed together.
#include "exec/wait_lane.h"
#include "frontend/handlersocket/exec_test/turn_fixture.h"

namespace rowsocket::exec {
namespace {

using model::Account;
using model::ErrorCode;

class AccountTest : public TurnFixture {
 protected:
  /// A client of an account, with the ids of Connect.
  Peer& ConnectAs(const std::shared_ptr<const Account>& account) {
    Peer& peer = Connect();
    peer.frontend.SetAccount(account);
    return peer;
  }
  /// Answers all checks of `account` with `outcome`, and lets other accounts pass.
  void Judge(const Account& account, Outcome outcome) {
    SetHook([&account, outcome](const Call& call) {
      const bool is_meant = call.kind == Call::Kind::kJudge && call.account == &account;
      return is_meant ? outcome : Outcome();
    });
  }
  static std::string Add(const std::string& key) { return "1\t=\t1\t" + key + "\t1\t0\t+\t1\n"; }

  const std::shared_ptr<const Account> one_ = std::make_shared<Account>("one", "localhost");
  const std::shared_ptr<const Account> two_ = std::make_shared<Account>("two", "localhost");
  const Outcome denied_ = Outcome::Fail(ErrorCode::kDenied);
  /// The outcome while a GRANT of another session holds the grants.
  static Outcome GrantsAreLocked() {
    Outcome outcome = Outcome::Make(Outcome::Result::kBusy, {ErrorCode::kLockTables});
    outcome.waits_elsewhere = true;
    return outcome;
  }
};

TEST_F(AccountTest, IdsAreNeverUsedTwice) {
  const uint64_t last = std::make_shared<Account>("a", "b")->id();
  EXPECT_LT(last, std::make_shared<Account>("a", "b")->id());
}

TEST_F(AccountTest, OneDeniedRequestLeavesTheRestOfItsRowMerged) {
  Peer& first = ConnectAs(one_);
  Peer& second = ConnectAs(two_);
  Peer& third = ConnectAs(one_);
  Peer& fourth = Connect();
  for (Peer& peer : peers_) Send(peer, Add("1"));
  Judge(*two_, denied_);
  Run();
  EXPECT_EQ("3\t1\tdenied\n", second.TakeReplies());
  for (Peer* peer : {&first, &third, &fourth}) EXPECT_EQ("0\t1\t1\n", peer->TakeReplies());
  EXPECT_EQ("1,13;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ(1u, Stat(Stat::kMergedRows));
  EXPECT_EQ(4u, Stat(Stat::kMergedRequests));
  EXPECT_EQ(1u, Errors(ErrorCode::kDenied));
}

TEST_F(AccountTest, ADeniedRequestThatComesFirstOpensNoRow) {
  Peer& first = ConnectAs(two_);
  Peer& second = ConnectAs(one_);
  Peer& third = ConnectAs(one_);
  for (Peer& peer : peers_) Send(peer, Add("2"));
  Judge(*two_, denied_);
  Run();
  EXPECT_EQ("3\t1\tdenied\n", first.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", second.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", third.TakeReplies());
  EXPECT_EQ("1,10;2,22;3,30;", store_.Dump(kTable));
  EXPECT_EQ(1u, store_.calls(Call::Kind::kBeginRow));
  EXPECT_EQ(2u, Stat(Stat::kMergedRequests));
}

TEST_F(AccountTest, LockedGrantsKeepTheirOwnAccountWaitingAlone) {
  for (const bool comes_first : {true, false}) {
    peers_.clear();
    Peer& waits = comes_first ? ConnectAs(two_) : ConnectAs(one_);
    Peer& other = comes_first ? ConnectAs(one_) : ConnectAs(two_);
    ConnectAs(one_);
    for (Peer& peer : peers_) Send(peer, Add("3"));
    Judge(*two_, GrantsAreLocked());
    Run();
    Peer& busy = comes_first ? waits : other;
    ASSERT_TRUE(busy.client.stopped());
    EXPECT_TRUE(busy.client.stopped_at->waits());
    EXPECT_EQ(TurnItem::Wait::kElsewhere, busy.client.stopped_at->wait);
    EXPECT_EQ("", busy.TakeReplies());
    for (Peer& peer : peers_) {
      if (&peer == &busy) continue;
      EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
    }
    SetHook();
    NextTurn();
  }
  EXPECT_EQ("1,10;2,20;3,34;", store_.Dump(kTable));
}

TEST_F(AccountTest, RequestsThatWaitForGrantsJoinNoGroupOfAnotherAccount) {
  Peer& peer = ConnectAs(one_);
  Send(peer, Add("1"));
  Item item = turn_.items().back().item;
  const std::string name = WaitLane::WaitGroupNameOf(item);
  const std::string waits = WaitLane::WaitGroupNameOf(item, /*waits_elsewhere=*/true);
  EXPECT_NE(name, waits);
  item.request.account = two_.get();
  EXPECT_EQ(name, WaitLane::WaitGroupNameOf(item));
  EXPECT_NE(waits, WaitLane::WaitGroupNameOf(item, true));
  item.request.account = nullptr;
  EXPECT_EQ(name, WaitLane::WaitGroupNameOf(item, true));
}

TEST_F(AccountTest, NothingIsLookedUpForAnAccountThatMayNotSeeIt) {
  Peer& peer = ConnectAs(two_);
  Judge(*two_, denied_);
  const uint64_t before = store_.calls(Call::Kind::kOpenIndex);
  Send(peer, "P\t0\ttest\tt\t\tv\nP\t0\ttest\tnothing\t\tv\n");
  Run();
  EXPECT_EQ("3\t1\tdenied\n3\t1\tdenied\n", peer.TakeReplies());
  EXPECT_EQ(before, store_.calls(Call::Kind::kOpenIndex));
}

}  // namespace
}  // namespace rowsocket::exec
