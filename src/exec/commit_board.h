// Which commits are under way, in all workers of all ports and both protocols, and what they write.
//
// Between the storage engine's making a commit visible and its being on disk another session may
// see what it wrote. Whoever has executed finds looks here before their replies leave: a find that
// may have been about a row of a commit under way is answered when that has ended.
//
// Flow:   who commits: Enter -> Session::Commit -> Leave
//         who has found: MarkUndurable, behind the turn; keeps the marked clients until HasEnded
// Looked at behind the turn: what of these was visible to it is durable by then, or still here.
// Threads: any; a Watcher is told on the thread that commits. Lifetime: outlives turns and workers.
// Limits: as many commits as there are threads that write, so that a list will do.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/session.h"
#include "exec/write_set.h"

namespace rowsocket::exec {

struct TurnItem;

/// One commit under way; the turn's that commits.
struct Commit {
  uint64_t number = 0;
  std::span<const TurnItem> items;  ///< Not written to while it is under way.
  WriteSet writes;                  ///< Made when the first find has to be looked at.
  bool has_writes = false;
};

class CommitBoard {
 public:
  /// Who waits for commits to end.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void CommitsEnded() = 0;
  };

  void Enter(Commit& commit, std::span<const TurnItem> items);
  void Leave(Commit& commit);

  /// Marks the clients whose finds may have seen what is not durable yet (TurnClient::
  /// may_see_undurable). Returns the number up to which all commits must have ended; then `watcher`
  /// is told. 0: no client is marked.
  uint64_t MarkUndurable(std::span<TurnItem> finds, engine::Session& session, Watcher& watcher) {
    if (finds.empty() || oldest_.load(std::memory_order_acquire) == kNone) [[likely]]
      return 0;
    return MarkBeside(finds, session, watcher);
  }
  /// Whether all commits up to this number have.
  bool HasEnded(uint64_t number) const { return number < oldest_.load(std::memory_order_acquire); }
  /// The watcher is told no more.
  void Forget(Watcher& watcher);

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  uint64_t MarkBeside(std::span<TurnItem> finds, engine::Session& session, Watcher& watcher);
  bool MayConcern(const TurnItem& find) REQUIRES(mutex_);
  static void CollectWrites(Commit& commit, engine::Session& session);

  std::atomic<uint64_t> oldest_{kNone};  ///< Number of the oldest commit under way.
  base::Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::vector<Commit*> commits_ GUARDED_BY(mutex_);  ///< From the oldest on.
  std::vector<std::pair<uint64_t, Watcher*>> watchers_
      GUARDED_BY(mutex_);  ///< With the commit that they wait for.
};

}  // namespace rowsocket::exec
