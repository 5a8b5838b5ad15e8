// The connections of a worker whose replies wait for commits of other connections.
//
// The finds of such a connection may have seen rows of commits that were under way and are not
// durable yet (commit_board.h): each waits until all commits up to a number have ended.
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

  /// Called after a turn: see CommitBoard::MarkUndurable.
  uint64_t MarkUndurable(std::span<TurnItem> finds, engine::Session& session) {
    return commits_.MarkUndurable(finds, session, /*watcher=*/*this);
  }
  /// Holds the client's replies until all commits up to the number have ended.
  void Hold(Client& client, uint64_t commit);
  /// Releases a client whose commits have all ended, and returns it; null when there is none.
  Client* Next();
  /// Forgets a client that is closed.
  void Drop(const Client& client);
  /// Forgets all clients, and no longer waits for commits.
  void Close();

 private:
  void CommitsEnded() override { loop_.Wake(); }

  CommitBoard& commits_;
  net::EventLoop& loop_;
  /// Each client with the number of the last commit that it waits for.
  std::deque<std::pair<uint64_t, Client*>> held_;
};

}  // namespace rowsocket::exec
