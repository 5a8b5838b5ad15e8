// Which requests audit plugins of the server are told about.
#include <atomic>
#include <memory>

#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using Accesses = std::vector<std::string>;

bool audits = true;

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    audits = true;
    test_.frontend.account = std::make_shared<model::Account>("app", "%");
    test_.make_frontend = [this] {
      auto frontend = std::make_unique<frontend::HandlerSocketFrontend>(test_.frontend);
      frontend->SetTellsAccesses([] { return audits; });
      return frontend;
    };
    test_.store.WantAccesses();
    test_.Start();
  }
  TestPort test_;
};

TEST_F(AuditTest, EachRequestIsToldBeforeItsAnswer) {
  LineClient client = test_.ConnectAndOpen();
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_EQ((Accesses{"app read test.t"}), test_.store.Accesses());
  EXPECT_EQ("0\t1\t1", client.Ask("0\t=\t1\t1\t1\t0\tU\t1\t11\n"));
  EXPECT_EQ((Accesses{"app read test.t", "app write test.t"}), test_.store.Accesses());
}

TEST_F(AuditTest, RequestsThatShareATurnAreToldEach) {
  LineClient client = test_.ConnectAndOpen();
  client.Send("0\t=\t1\t1\n0\t=\t1\t2\n0\t=\t1\t99\n");
  EXPECT_EQ(kRow1, client.ReadLine());
  EXPECT_EQ("0\t2\t2\t20", client.ReadLine());
  EXPECT_EQ("0\t2", client.ReadLine());
  EXPECT_EQ(Accesses(3, "app read test.t"), test_.store.Accesses());
}

TEST_F(AuditTest, TheRequestsOfAGroupAreToldEach) {
  LineClient client = test_.ConnectAndOpen();
  client.Send("G\t2\nR\t0\t=\t1\t1\nR\t0\t+\t2\t7\t70\n");
  EXPECT_EQ("0\t2\t1\t0", client.ReadLine());
  client.ReadLine();
  client.ReadLine();
  EXPECT_EQ((Accesses{"app read test.t", "app write test.t"}), test_.store.Accesses());
}

TEST_F(AuditTest, ATurnThatRunsAgainIsToldOnce) {
  LineClient client = test_.ConnectAndOpen();
  // The first commit is lost to another node, after which the turn runs again.
  const auto commits = std::make_shared<std::atomic<int>>(0);
  test_.store.SetHook([commits](const engine::fake::Call& call) {
    if (call.kind != engine::fake::Call::Kind::kCommit || commits->fetch_add(1) != 0) {
      return engine::Outcome();
    }
    engine::Outcome lost =
        engine::Outcome::Make(engine::Outcome::Result::kConflict, {model::ErrorCode::kDeadlock});
    lost.transaction_lost = true;
    return lost;
  });
  EXPECT_EQ("0\t1\t1", client.Ask("0\t=\t1\t1\t1\t0\tU\t1\t11\n"));
  EXPECT_GE(commits->load(), 2);
  EXPECT_EQ((Accesses{"app write test.t"}), test_.store.Accesses());
}

TEST_F(AuditTest, ARequestWhoseTurnIsLostEachTimeIsToldOnce) {
  LineClient client = test_.ConnectAndOpen();
  test_.store.SetHook([](const engine::fake::Call& call) {
    engine::Outcome lost;
    if (call.kind != engine::fake::Call::Kind::kExecute) return lost;
    lost = engine::Outcome::Make(engine::Outcome::Result::kDeadlock, {model::ErrorCode::kDeadlock});
    lost.transaction_lost = true;
    return lost;
  });
  EXPECT_EQ("1\t1\t149", client.Ask("0\t=\t1\t1\t1\t0\tU\t1\t11\n"));
  EXPECT_EQ((Accesses{"app write test.t"}), test_.store.Accesses());
}

TEST_F(AuditTest, ARequestThatGivesWayToTheEndIsToldOnce) {
  LineClient client = test_.ConnectAndOpen();
  test_.store.SetLockWaitMs(1);
  test_.store.SetHook([](const engine::fake::Call& call) {
    if (call.kind != engine::fake::Call::Kind::kExecute) return engine::Outcome();
    const bool is_lane = call.lock_wait == engine::LockWait::kServer;
    return engine::Outcome::Make(
        is_lane ? engine::Outcome::Result::kGivesWay : engine::Outcome::Result::kBusy,
        {model::ErrorCode::kLockWait});
  });
  client.Send("0\t=\t1\t1\t1\t0\tU\t1\t11\n");
  EXPECT_TRUE(client.ReadLine().starts_with("1\t1\t"));
  EXPECT_EQ((Accesses{"app write test.t"}), test_.store.Accesses());
}

TEST_F(AuditTest, WhatReachesNoTableIsNotTold) {
  LineClient client = test_.ConnectAndOpen();
  EXPECT_EQ("2\t1\tstmtnum", client.Ask("5\t=\t1\t1\n"));
  EXPECT_EQ("2\t1\tcmd", client.Ask("bad\n"));
  EXPECT_TRUE(test_.store.Accesses().empty());
}

TEST_F(AuditTest, WhatIsRefusedWhileItsTableIsOpenedIsNotTold) {
  using model::ErrorCode;
  LineClient client = test_.ConnectAndOpen();
  const auto refuse = [this](ErrorCode code) {
    test_.store.SetHook([code](const engine::fake::Call& call) {
      return call.kind == engine::fake::Call::Kind::kExecute ? engine::Outcome::Fail(code)
                                                             : engine::Outcome();
    });
  };
  for (const ErrorCode code :
       {ErrorCode::kOpenTable, ErrorCode::kView, ErrorCode::kSequence, ErrorCode::kSystemTable,
        ErrorCode::kTableEngine, ErrorCode::kUnserved}) {
    refuse(code);
    EXPECT_TRUE(client.Ask(kFind1).starts_with("1\t1\t"));
    EXPECT_TRUE(test_.store.Accesses().empty()) << model::Name(code);
  }
  refuse(ErrorCode::kIndexop);
  EXPECT_EQ("2\t1\tindexop", client.Ask(kFind1));
  EXPECT_EQ((Accesses{"app read test.t"}), test_.store.Accesses());
  test_.store.SetHook({});
}

TEST_F(AuditTest, TheVariableDecidesForOpenConnectionsToo) {
  audits = false;
  LineClient client = test_.ConnectAndOpen();
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_TRUE(test_.store.Accesses().empty());
  audits = true;
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_EQ(1u, test_.store.Accesses().size());
}

}  // namespace
}  // namespace rowsocket::exec
