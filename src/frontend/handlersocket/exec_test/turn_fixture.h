// Members that all tests of turns share: connections over the in-memory engine, without sockets.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "engine/fake/session.h"
#include "exec/turn.h"
#include "frontend/handlersocket/frontend.h"

namespace rowsocket::exec {

inline constexpr const char kTable[] = "test.t";

/// A connection as a turn sees it: what the client sends, and what it can read so far.
struct Peer {
  explicit Peer(const frontend::HandlerSocketSettings& settings) : frontend(settings) {
    client.frontend = &frontend;
    client.out = &out;
  }
  /// Takes the replies that may leave, one a line.
  std::string TakeReplies() {
    std::string replies(out.sendable());
    out.Consume(replies.size());
    return replies;
  }

  frontend::HandlerSocketFrontend frontend;
  size_t parsed = 0;  ///< Bytes that were put into the turn.
  net::GatedOutput out;
  TurnClient client;
};

class TurnFixture : public ::testing::Test {
 protected:
  using Call = engine::fake::Call;
  using Hook = engine::fake::Hook;
  using Outcome = engine::Outcome;

  TurnFixture() {
    store_.CreateTable({kTable, {"id", "v"}, {{"PRIMARY", {0}}}},
                       {{"1", "10"}, {"2", "20"}, {"3", "30"}});
    settings_.writable = true;
    turn_.LimitTime(INT64_MAX);
  }
  void TearDown() override { store_.SetHook({}); }

  /// A client that has opened id 0: (id; id, v), and id 1: (id; v).
  Peer& Connect() {
    Peer& peer = peers_.emplace_back(settings_);
    Send(peer, "P\t0\ttest\tt\t\tid,v\nP\t1\ttest\tt\t\tv\n");
    Run();
    EXPECT_EQ("0\t1\n0\t1\n", peer.TakeReplies());
    NextTurn();
    return peer;
  }

  /// Puts requests into the turn, as a worker does.
  void Send(Peer& peer, std::string_view lines) {
    std::string_view input = inputs_.emplace_back(lines);
    bool after_requests = false;
    while (!input.empty()) {
      TurnItem& item = turn_.Add(peer.client);
      const Frontend::Step step = peer.frontend.Parse(input, after_requests, arena_, &item.item);
      ASSERT_EQ(Frontend::Parsed::kItem, step.parsed);
      item.input_begin = peer.parsed;
      item.input_end = peer.parsed += step.consumed;
      input.remove_prefix(step.consumed);
      after_requests = after_requests || item.item.kind == Item::Kind::kRequest;
      if (item.item.kind == Item::Kind::kOpen) Open(peer, item);
      turn_.Added();
    }
  }
  void Open(Peer& peer, TurnItem& item) {
    std::shared_ptr<engine::Index> index;
    const Outcome outcome =
        session_.OpenIndexFor(item.item.request.account, *item.item.names, &index);
    const bool is_busy = outcome.result == Outcome::Result::kBusy;
    if (!is_busy) peer.frontend.Opened(item.item, outcome, std::move(index));
  }

  /// Runs the turn. Until its transaction is over, nothing may leave (I4).
  void Run() {
    turn_.Run(session_);
    for (const TurnItem& item : turn_.items()) EXPECT_FALSE(item.client->out->is_gate_held());
  }
  void NextTurn() {
    turn_.Clear();
    arena_.Reset();
    inputs_.clear();
    for (Peer& peer : peers_) {
      peer.client.stopped_at = nullptr;
      peer.parsed = 0;
    }
  }

  /// Sets a hook that asks `hook` and checks at every call that no reply can be sent.
  void SetHook(Hook hook = {}) {
    store_.SetHook([this, hook = std::move(hook)](const Call& call) {
      if (call.kind == Call::Kind::kExecute || call.kind == Call::Kind::kCommit) {
        for (const Peer& peer : peers_) EXPECT_EQ("", peer.out.sendable());
      }
      return hook ? hook(call) : Outcome();
    });
  }
  /// A hook for statements on one key: fails the first `times` of them with `outcome`.
  static Hook FailKey(const std::string& key, uint64_t times, Outcome outcome) {
    return [key, times, outcome, seen = std::make_shared<uint64_t>(0)](const Call& call) {
      const bool hit = call.kind == Call::Kind::kExecute &&
                       engine::fake::FirstValue(*call.request) == key && ++*seen <= times;
      return hit ? outcome : Outcome();
    };
  }
  static Hook FailAlways(const std::string& key, Outcome outcome) {
    return FailKey(key, UINT64_MAX, outcome);
  }

  uint64_t Stat(exec::Stat stat) const { return registry_.Sum(stat); }
  uint64_t Errors(model::ErrorCode code) const { return registry_.Sum(ErrorStat(code)); }

  engine::fake::Store store_;
  engine::fake::Session session_{store_, engine::LockWait::kNever};
  frontend::HandlerSocketSettings settings_;
  StatRegistry registry_;
  StatBlock stats_{registry_};
  base::Arena arena_;
  std::deque<std::string> inputs_;
  std::deque<Peer> peers_;
  CommitBoard commits_;
  Turn turn_{stats_, commits_};
};

}  // namespace rowsocket::exec
