// The connections of a worker whose replies wait for the commits of others.
//
// Their finds may have seen what was being committed beside them and is not durable yet
// (commit_board.h): each waits until all commits up to a number have ended.
//
// Threads: the worker's; CommitsEnded from any that commits.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>

#include "exec/client.h"
#include "exec/commit_board.h"
#include "net/event_loop.h"

namespace rowsocket::exec {

class HeldReplies final : private CommitBoard::Watcher {
 public:
  HeldReplies(CommitBoard& commits, net::EventLoop& loop) : commits_(commits), loop_(loop) {}

  /// Behind a turn: see CommitBoard::MarkUndurable.
  uint64_t MarkUndurable(std::span<TurnItem> finds, engine::Session& session) {
    return commits_.MarkUndurable(finds, session, /*watcher=*/*this);
  }
  void Hold(Client& client, uint64_t commit);
  /// A client for which all commits have ended, no longer held; null when there is none.
  Client* Next();
  /// The client goes.
  void Drop(const Client& client);
  /// All clients go, and no commit is waited for any more.
  void Close();

 private:
  void CommitsEnded() override { loop_.Wake(); }

  CommitBoard& commits_;
  net::EventLoop& loop_;
  std::deque<std::pair<uint64_t, Client*>> held_;  ///< With the last commit that each waits for.
};

}  // namespace rowsocket::exec
