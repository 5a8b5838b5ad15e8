// Where requests wait for locks that other sessions hold, so that their worker does not.
//
// A worker never waits: a request that meets a held lock is handed to the lane, whose threads wait
// as SQL sessions would. The connection it came from is left alone until the outcome is back, which
// keeps its requests in order.
//
// Writes of one row wait together, as a group: one thread waits for all of them, executes them as
// one turn, and commits once. Who comes for that row while its group is under way is handed back
// when the group has ended, to go into its worker's batch with all others: else a hot row would
// stay with the lane for as long as its load lasts. Who meets a lock again after that is executed
// here: it is part of the next group. All else is a group of its own.
//
// Flow:    worker: Submit(job) -> lane thread: wait, run, commit -> owner's Done(jobs)
// Threads: Submit and Cancel from any thread, Stop from one; a job is the lane's between Submit and
//          Done.
// Limits:  threads_max threads; groups beyond wait in the order they came. One job a connection;
//          kTurnRequestsMax in a turn.
// Errors: a job that no thread can be had for ends as a wait that took too long. So do all of a
//         group when its wait does: at most twice the server's timeout after the job came.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/mutex.h"
#include "engine/session.h"
#include "exec/frontend.h"
#include "exec/session_thread.h"
#include "exec/stats.h"
#include "exec/turn.h"
#include "net/gated_output.h"

namespace rowsocket::exec {

struct WaitJob;

using WaitJobs = std::vector<std::unique_ptr<WaitJob>>;

/// Who gets jobs back, all of a group at once. Done may be called on any thread.
class WaitJobOwner {
 public:
  virtual ~WaitJobOwner() = default;
  virtual void Done(WaitJobs jobs) = 0;
};

/// The jobs that wait for one row, or one that waits for something else.
struct WaitGroup;

struct WaitJob {
  WaitJobOwner* owner = nullptr;
  void* client = nullptr;  ///< The owner's; the lane does not look at it.
  Frontend* frontend = nullptr;
  Item item;  ///< Its views point into `line`, `arena` and `frontend`.
  std::string line;
  std::string row;  ///< WaitLane::RowOf(item).
  base::Arena arena;
  bool was_handed_back = false;  ///< When it came here last: now it is executed.
  // The outcome:
  bool is_handed_back = false;  ///< It was not executed, and is to be tried again.
  Loss loss = Loss::kNone;
  engine::Outcome outcome;
  net::GatedOutput out;  ///< Empty for kOpen: the worker looks the names up again.
  // The lane's:
  TurnClient turn;
  WaitGroup* group = nullptr;  ///< While no thread has taken the job up.
  std::list<std::unique_ptr<WaitJob>>::iterator place;

  std::string_view reply() const { return out.bytes().view(); }
};

struct WaitGroup {
  std::string row;                           ///< Empty: not about one row.
  std::list<std::unique_ptr<WaitJob>> jobs;  ///< That no thread has taken up.
  bool is_under_way = false;
  std::list<WaitGroup>::iterator place;  ///< In the lane's list, or that of its thread.
};

class WaitLane {
 public:
  WaitLane(engine::SessionFactory& sessions, StatRegistry& stats, CommitBoard& commits,
           unsigned threads_max)
      : sessions_(sessions), stats_(stats), commits_(commits), threads_max_(threads_max) {}
  ~WaitLane() { Stop(); }
  WaitLane(const WaitLane&) = delete;
  WaitLane& operator=(const WaitLane&) = delete;

  /// Different for different rows, and for requests of a row with and without a token; empty for a
  /// request that is not about one row, and waits by itself.
  static std::string RowOf(const Item& item);
  void Submit(std::unique_ptr<WaitJob> job);
  /// Takes a submitted job back that no thread has taken up yet, and drops it; else false.
  bool Cancel(WaitJob& job);
  /// Ends all waits, whose jobs are done with an error; jobs that no thread had taken up yet are
  /// dropped, their owners not told.
  void Stop();

 private:
  using Groups = std::list<WaitGroup>;

  // Threads and groups (wait_lane.cc).
  bool Join(std::unique_ptr<WaitJob>& job) REQUIRES(mutex_);
  void AddThread() REQUIRES(mutex_);
  void Main(engine::Session* session);
  bool NextGroup(engine::Session* session, Groups& taken, WaitJobs& jobs);
  void EndGroup(Groups& taken, WaitJobs& jobs);
  static void GiveBack(WaitJobs& jobs);
  void Forget(WaitGroup& group) REQUIRES(mutex_);
  void Reap() REQUIRES(mutex_);
  // What a thread does with a group (wait_lane_run.cc).
  void Run(engine::Session& session, Turn& turn, WaitJobs& jobs);
  bool Pause(engine::Session& session);
  static void Open(engine::Session& session, WaitJob& job);
  static void RunTurn(engine::Session& session, Turn& turn, std::span<WaitJob*> jobs);
  void Fail(WaitJob& job, model::Error error);

  engine::SessionFactory& sessions_;
  StatRegistry& stats_;
  CommitBoard& commits_;
  const unsigned threads_max_;

  base::Mutex mutex_;
  base::Condition work_;
  base::Condition stops_;             ///< Not work_: who pauses would take a wake-up from the idle.
  Groups queued_ GUARDED_BY(mutex_);  ///< That no thread has taken up.
  /// The groups of rows, also those under way, whose names these are.
  std::unordered_map<std::string_view, WaitGroup*> rows_ GUARDED_BY(mutex_);
  std::list<SessionThread> threads_ GUARDED_BY(mutex_);
  unsigned serving_ GUARDED_BY(mutex_) = 0;  ///< Threads that will look at queued_ again.
  unsigned idle_ GUARDED_BY(mutex_) = 0;     ///< Of these, those that wait for a group.
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace rowsocket::exec
