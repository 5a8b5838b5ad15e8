// Where requests wait for locks that other sessions hold, so that their worker does not.
//
// A worker never waits: a request that meets a held lock is handed to the lane, whose threads run
// one request each, in a transaction of its own, waiting as a SQL session would. The connection
// it came from is left alone until the outcome is back, which keeps its requests in order.
//
// Flow:   worker: Submit(job) -> lane thread: run, commit -> owner's Done(job) (mailbox + wake-up)
// Threads: Submit, Cancel and Stop from any thread; a job is the lane's between Submit and Done.
// Limits: threads_max threads; jobs beyond wait in the order they came, one a connection.
// Errors: a job that no thread can be had for ends as a wait that took too long.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/arena.h"
#include "base/buffer.h"
#include "engine/session.h"
#include "exec/frontend.h"
#include "exec/stats.h"

namespace rowsocket::exec {

struct WaitJob;

/// Who gets a job back. Done may be called on any thread.
class WaitJobOwner {
 public:
  virtual ~WaitJobOwner() = default;
  virtual void Done(std::unique_ptr<WaitJob> job) = 0;
};

struct WaitJob {
  WaitJobOwner* owner = nullptr;
  void* client = nullptr;              ///< The owner's; the lane does not look at it.
  const Frontend* frontend = nullptr;
  Item item;                           ///< Its views point into `line`, `arena` and `frontend`.
  std::string line;
  base::Arena arena;
  // The outcome:
  engine::Outcome outcome;
  base::Buffer reply;                  ///< Empty for kOpen: the worker looks the names up again.
  // The lane's:
  std::list<std::unique_ptr<WaitJob>>::iterator place;
  bool is_queued = false;
};

class WaitLane {
 public:
  WaitLane(engine::SessionFactory& sessions, StatRegistry& stats, unsigned threads_max)
      : sessions_(sessions), stats_(stats), threads_max_(threads_max) {}
  ~WaitLane() { Stop(); }
  WaitLane(const WaitLane&) = delete;
  WaitLane& operator=(const WaitLane&) = delete;

  void Submit(std::unique_ptr<WaitJob> job);
  /// Takes a submitted job back that no thread has taken up yet, and drops it; else false.
  bool Cancel(WaitJob& job);
  /// Ends all waits, whose jobs are done with an error; jobs that no thread had taken up yet are
  /// dropped, their owners not told.
  void Stop();

 private:
  struct Thread {
    std::thread thread;
    engine::Session* session = nullptr;
    bool finished = false;
  };

  void AddThread();
  void Main(Thread& self);
  std::unique_ptr<WaitJob> NextJob(Thread& self);
  void Run(engine::Session& session, WaitJob& job, StatBlock& stats);
  bool Pause(engine::Session& session);
  static void RunOnce(engine::Session& session, WaitJob& job, StatBlock& stats);
  static void RunRequest(engine::Session& session, WaitJob& job, StatBlock& stats);
  static void Fail(WaitJob& job, model::Error error);
  void Reap();

  engine::SessionFactory& sessions_;
  StatRegistry& stats_;
  const unsigned threads_max_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable stops_;     ///< Not work_: who pauses would take a wake-up from the idle.
  std::condition_variable finished_;  ///< Some thread has.
  std::list<std::unique_ptr<WaitJob>> jobs_;
  std::list<Thread> threads_;
  unsigned serving_ = 0;  ///< Threads that will look at jobs_ again.
  unsigned idle_ = 0;     ///< Of these, those that wait for a job.
  bool stopping_ = false;
};

}  // namespace rowsocket::exec
