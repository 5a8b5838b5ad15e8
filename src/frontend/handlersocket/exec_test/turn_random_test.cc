// Random turns with random failures: a change that is answered as done is there, a change that is
// answered as failed is not, and every request is answered once and in order.
#include <random>

#include "frontend/handlersocket/exec_test/turn_fixture.h"

namespace rowsocket::exec {
namespace {

using model::Error;

class TurnRandomTest : public TurnFixture, public ::testing::WithParamInterface<unsigned> {
 protected:
  /// The keys that a client has sent inserts of and has no answer to yet.
  struct Sender {
    Peer* peer;
    std::deque<unsigned> keys;
  };

  unsigned Random(unsigned below) { return static_cast<unsigned>(random_() % below); }

  /// Fails about one call of `rarity`.
  Outcome FailSometimes(const Call& call, unsigned rarity) {
    if (Random(rarity) != 0) return {};
    const Error error = Error::Engine(5);
    if (call.kind == Call::Kind::kCommit) return Outcome::Of(error);
    Outcome busy = Outcome::Make(Outcome::Result::kBusy, error);
    if (call.kind != Call::Kind::kExecute) return {};
    switch (Random(6)) {
      case 0:
        return engine::fake::Killed();
      case 1:
        return engine::fake::KilledTurn();
      case 2:
        return busy;
      case 3:
        busy.transaction_lost = true;
        return busy;
      case 4:
        return engine::fake::MustSplit();
      default:
        return engine::fake::Deadlock();
    }
  }

  void SendSome(Sender& sender) {
    for (unsigned i = Random(5); i > 0; --i) sender.keys.push_back(next_key_++);
    for (const unsigned key : sender.keys) {
      Send(*sender.peer, "0\t+\t2\t" + std::to_string(key) + "\t0\n");
    }
  }
  /// Checks the answers of a turn; requests without an answer are sent again in the next one.
  void CheckAnswers(Sender& sender) {
    std::string replies = sender.peer->TakeReplies();
    for (const TurnItem& item : turn_.items()) {
      if (item.client != &sender.peer->client || !item.is_answered()) continue;
      const size_t end = replies.find('\n');
      ASSERT_NE(std::string::npos, end) << "no answer";
      const bool done = replies.substr(0, end) == "0\t1";
      const std::string row = ";" + std::to_string(sender.keys.front()) + ",0;";
      const bool is_there = (";" + store_.Dump(kTable)).find(row) != std::string::npos;
      ASSERT_EQ(done, is_there) << "key " << sender.keys.front() << ": " << replies.substr(0, end);
      replies.erase(0, end + 1);
      sender.keys.pop_front();
    }
    ASSERT_EQ("", replies);
  }

  std::mt19937 random_{GetParam()};
  unsigned next_key_ = 100;
};

TEST_P(TurnRandomTest, AnswersAreTrue) {
  std::vector<Sender> senders;
  for (int i = 0; i < 5; ++i) senders.push_back({&Connect(), {}});
  const unsigned rarity = 1 + Random(30);
  for (int turn = 0; turn < 40; ++turn) {
    store_.SetHook([this, rarity](const Call& call) { return FailSometimes(call, rarity); });
    for (Sender& sender : senders) SendSome(sender);
    Run();
    for (Sender& sender : senders) {
      CheckAnswers(sender);
      if (HasFatalFailure()) return;
    }
    NextTurn();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TurnRandomTest, ::testing::Range(1u, 41u));

}  // namespace
}  // namespace rowsocket::exec
