// Which commits are under way, in all workers of all ports and protocols, and what they write.
//
// The storage engine makes a commit visible before it is on disk, and until then other sessions may
// see what it wrote. A thread that has executed finds looks here before their replies leave: a find
// that may have been about a row of a commit under way is answered when that has ended.
//
// Flow: a thread that commits: Enter -> Session::Commit -> Leave
//       a thread that has executed finds: MarkUndurable after the turn; it keeps the marked
//       clients until HasEnded
//
// MarkUndurable comes after the turn: by then a commit whose rows the turn has seen is durable, or
// still among those under way here.
// Threads: any; a Watcher is told on the thread that commits.
// Lifetime: outlives turns and workers.
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

/// One commit under way; a member of the turn that commits.
struct CommitUnderWay {
  uint64_t number = 0;
  std::span<const TurnItem> items;  ///< They do not change while the commit is under way.
  WriteSet writes;                  ///< Collected when the first find is compared with them.
  bool has_writes = false;
};

class CommitBoard {
 public:
  /// An object that is told when the commits that MarkUndurable has named have ended.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void CommitsEnded() = 0;
  };

  void Enter(CommitUnderWay& commit, std::span<const TurnItem> items);
  void Leave(CommitUnderWay& commit);

  /// Marks the clients whose finds may have seen rows that are not durable yet (TurnClient::
  /// may_see_undurable). Returns the number up to which all commits must have ended; then `watcher`
  /// is told. 0: no client is marked.
  uint64_t MarkUndurable(std::span<TurnItem> finds, engine::Session& session, Watcher& watcher) {
    if (finds.empty() || oldest_.load(std::memory_order_acquire) == kNone) [[likely]]
      return 0;
    return MarkBeside(finds, session, watcher);
  }
  /// Whether all commits up to this number have ended.
  bool HasEnded(uint64_t number) const { return number < oldest_.load(std::memory_order_acquire); }
  /// Ends what the watcher waits for: it is told nothing more.
  void Forget(Watcher& watcher);

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  uint64_t MarkBeside(std::span<TurnItem> finds, engine::Session& session, Watcher& watcher);
  bool MayConcern(const TurnItem& find) REQUIRES(mutex_);
  static void CollectWrites(CommitUnderWay& commit, engine::Session& session);

  std::atomic<uint64_t> oldest_{kNone};  ///< Number of the oldest commit under way.
  base::Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::vector<CommitUnderWay*> commits_ GUARDED_BY(mutex_);  ///< From the oldest on.
  /// Each watcher with the number of the last commit that it waits for.
  std::vector<std::pair<uint64_t, Watcher*>> watchers_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::exec
