// Where requests wait for locks that other sessions hold, so that their worker does not.
//
// A worker never waits: a request that meets a held lock is handed to the lane, whose threads wait
// as SQL sessions would. The connection that sent the request is left alone until the outcome is
// back, which keeps its requests in order.
//
// Writes of one row wait together, as a waiting group: one thread waits for all of them, executes
// them as one turn, and commits once. A job for that row that comes while the group is under way is
// handed back when the group has ended, to go into its worker's batch with all others: otherwise a
// hot row would stay with the lane for as long as its load lasts. A job that meets a lock again
// after that is executed here, in the next waiting group. Jobs for which the turn of their waiting
// group has no room left, because of the replies before them, are handed back as well. Every other
// job is a waiting group of its own. (A group that a client sends is another thing: a unit,
// unit.h.)
//
// Flow: worker: Submit(job) -> lane thread: wait, run, commit -> owner's Done(jobs)
// Threads: Submit and Cancel from any thread, Stop from one; a job is the lane's between Submit and
// Done.
// Limits: threads_max threads, of which one account leaves a quarter, and at least one of several,
// to others; further waiting groups are queued in the order in which they came. One job a
// connection; kTurnRequestsMax in a turn, and kTurnReplyBytesMax and one reply more. A job waits
// with three waiting groups at most: the one under way when it came, the one under way when it came
// again after it was handed back, and its own; a job for which its own has no room may come again.
// Time in the queue, when all threads are at work, is not counted.
// Errors: a job that no thread can be had for ends as a wait that took too long. So do all jobs of
// a waiting group whose wait takes too long. If memory runs out the jobs under way come back with
// Loss::kMemory, which takes no memory; Submit throws std::bad_alloc.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/mutex.h"
#include "engine/session.h"
#include "exec/frontend.h"
#include "exec/key_hash.h"
#include "exec/session_thread.h"
#include "exec/stats.h"
#include "exec/turn.h"
#include "net/gated_output.h"

namespace rowsocket::exec {

struct Client;
struct WaitJob;

/// Jobs in a list, so that they change hands without memory.
using WaitJobs = std::list<std::unique_ptr<WaitJob>>;

/// Moves the jobs for which `is_so` holds to the end of another list.
template <typename IsSo>
void MoveJobs(WaitJobs& from, WaitJobs& to, IsSo is_so) {
  for (auto at = from.begin(); at != from.end();) {
    const auto job = at++;
    if (is_so(**job)) to.splice(to.end(), from, job);
  }
}

/// The submitter of jobs, which gets them back, all jobs of a waiting group at once. Done may be
/// called on any thread.
class WaitJobOwner {
 public:
  virtual ~WaitJobOwner() = default;
  virtual void Done(WaitJobs jobs) = 0;
};

/// The jobs that wait for one row, or one job that waits for something else.
struct WaitGroup;

struct WaitJob {
  WaitJobOwner* owner = nullptr;
  Client* client = nullptr;  ///< The owner's note; the lane does not look at it.
  Frontend* frontend = nullptr;
  Item item;  ///< The views of the item point into `line`, `arena` and `frontend`.
  std::string line;
  std::string wait_group_name;  ///< WaitLane::WaitGroupNameOf(item).
  base::Arena arena;
  int64_t since_ns = 0;          ///< When the job was submitted, by base::NowNs.
  int64_t waited_before_ns = 0;  ///< Client::handed_back_ns.
  bool must_run = false;         ///< The lane handed the job back: the next group executes it.
  // The outcome:
  bool is_handed_back = false;  ///< The job was not executed, and is to be tried again.
  Loss loss = Loss::kNone;
  engine::Outcome outcome;
  net::GatedOutput out;                  ///< Empty if the item opens.
  std::shared_ptr<engine::Index> index;  ///< What the item has opened, if `outcome` is a success.
  // Used only by the lane:
  TurnClient turn;
  WaitGroup* group = nullptr;  ///< The job's group, until a thread takes the job up.
  WaitJobs::iterator place;    ///< The job's place among the jobs of `group`.

  std::string_view reply() const { return out.bytes().view(); }
  /// The bytes that the job holds while it waits. The name counts twice, because the job's group
  /// has a copy of it.
  size_t held_bytes() const {
    return line.size() + 2 * wait_group_name.size() + arena.allocated_bytes();
  }
};

struct WaitGroup {
  std::string name;  ///< WaitLane::WaitGroupNameOf its jobs; empty: they are not for one row.
  WaitJobs jobs;     ///< Jobs that no thread has taken up.
  bool is_under_way = false;
  uint64_t account = 0;                  ///< The id of the first job's account; 0: none.
  std::list<WaitGroup>::iterator place;  ///< The group's place in the lane's or a thread's list.
};

class WaitLane {
 public:
  WaitLane(engine::SessionFactory& sessions, StatRegistry& stats, CommitBoard& commits,
           unsigned threads_max)
      : sessions_(sessions), stats_(stats), commits_(commits), threads_max_(threads_max) {
    threads_of_.reserve(threads_max);
  }
  ~WaitLane() { Stop(); }
  WaitLane(const WaitLane&) = delete;
  WaitLane& operator=(const WaitLane&) = delete;

  /// The name of the waiting group that the item joins. Different rows have different names. So
  /// have a row's units, its other composite items (requests with a token), and its plain requests.
  /// The name is empty for a request that is not for one row, and waits by itself.
  /// `waits_elsewhere`: requests of other accounts for the row need not wait.
  static std::string WaitGroupNameOf(const Item& item, bool waits_elsewhere = false);
  /// Gives the job to a thread of the lane, which executes it when the lock that it waits for is
  /// free.
  void Submit(std::unique_ptr<WaitJob> job);
  /// Drops a submitted job that no thread has taken up yet; false for other jobs.
  bool Cancel(WaitJob& job);
  /// Ends all waits, whose jobs end with an error. Jobs that no thread has taken up yet are
  /// dropped, and their owners are not told.
  void Stop();

 private:
  using WaitGroups = std::list<WaitGroup>;
  struct AccountThreads {
    uint64_t account;
    unsigned threads;
  };

  // Threads and waiting groups (wait_lane.cc).
  /// Adds the job to a waiting group. False when there is no thread for it. Throws std::bad_alloc;
  /// the lane is then as it was, and the caller still has the job.
  bool Join(std::unique_ptr<WaitJob>& job) REQUIRES(mutex_);
  void AddThread() REQUIRES(mutex_);
  WaitGroups::iterator Next() REQUIRES(mutex_);
  void CountThread(const WaitGroup& group, int change) REQUIRES(mutex_);
  void Main(engine::Session* session);
  bool NextWaitGroup(engine::Session* session, WaitGroups& taken, WaitJobs& jobs);
  /// Ends the waiting group, and appends its jobs that are handed back to `jobs`.
  void EndWaitGroup(WaitGroups& taken, WaitJobs& jobs);
  static void GiveBack(WaitJobs& jobs);
  void FailUnserved();
  void Forget(WaitGroup& group) REQUIRES(mutex_);
  void Reap() REQUIRES(mutex_);
  // The work of a thread on a waiting group (wait_lane_run.cc).
  void Run(engine::Session& session, Turn& turn, WaitJobs& jobs);
  void RunLeft(engine::Session& session, Turn& turn, WaitJobs& left, WaitJobs& done);
  bool Pause(engine::Session& session);
  static void Open(engine::Session& session, WaitJob& job);
  static void RunTurn(engine::Session& session, Turn& turn, const WaitJobs& jobs);
  void Fail(WaitJob& job, model::Error error);

  engine::SessionFactory& sessions_;
  StatRegistry& stats_;
  CommitBoard& commits_;
  const unsigned threads_max_;

  base::Mutex mutex_;
  base::Condition work_;
  base::Condition stops_;  ///< Ends pauses when the lane stops; work_ wakes idle threads only.
  WaitGroups queued_ GUARDED_BY(mutex_);  ///< Groups that no thread has taken up.
  /// The groups of rows by name, those under way included. Clients choose the keys in the names.
  std::unordered_map<std::string_view, WaitGroup*, TextHash> by_name_ GUARDED_BY(mutex_);
  /// How many threads are at work for each account that has some: room for threads_max_.
  std::vector<AccountThreads> threads_of_ GUARDED_BY(mutex_);
  std::list<SessionThread> threads_ GUARDED_BY(mutex_);
  unsigned serving_ GUARDED_BY(mutex_) = 0;  ///< Threads that will look at queued_ again.
  unsigned idle_ GUARDED_BY(mutex_) = 0;     ///< Threads of serving_ that wait for a group.
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace rowsocket::exec
