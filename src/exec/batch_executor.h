// The thread that executes the batches of one worker, one after the other, with its own session.
//
// While a batch is executed and committed the worker goes on: it receives, parses, serves reads and
// collects the next batch. No timer decides how large a batch becomes: the requests that have come
// by the time a batch has been executed are the next batch (a natural group commit).
//
// Flow: worker: Publish(batch) -> executor: takes it, Turn::Run, wakes the worker
//       -> worker: TakeDone
//       worker: TakeBack()        before the executor has taken it, to put more into it
//
// An executor for whose session there is no memory gives batches back as they are (is_unserved).
//
// Threads: Start, Stop, Publish, TakeBack and TakeDone from the worker's thread. A batch and all
// that its items point to is the executor's from the moment it takes it until TakeDone has returned
// it.
// Lifetime: batches are the worker's and outlive Stop.
// Limits: one batch is executed, one is published.
// Errors: those of Turn.
#pragma once

#include <cstdint>
#include <functional>

#include "base/arena.h"
#include "base/mutex.h"
#include "exec/session_thread.h"
#include "exec/stats.h"
#include "exec/turn.h"

namespace rowsocket::exec {

struct Batch {
  Batch(StatBlock& stats, CommitBoard& commits) : turn(stats, commits) {}

  Turn turn;
  base::Arena arena;           ///< What the items of the turn point to.
  Batch* next_done = nullptr;  ///< The next executed batch, see BatchExecutor::TakeDone.
  bool is_unserved = false;    ///< The executor has no session, and has executed nothing.
};

class BatchExecutor {
 public:
  /// `wake`: called on the executor's thread when a batch has been executed.
  BatchExecutor(engine::SessionFactory& sessions, StatRegistry& stats, std::function<void()> wake);
  ~BatchExecutor() { Stop(); }
  BatchExecutor(const BatchExecutor&) = delete;
  BatchExecutor& operator=(const BatchExecutor&) = delete;

  /// Starts the thread. False when the system gives none: errno says why.
  bool Start();
  /// Ends the thread, and returns when the batch under way has been executed; a published batch
  /// stays for TakeBack.
  void Stop();
  /// The executor's thread. SessionThread::AwaitEnd can end its waits inside the batch under way.
  SessionThread& thread() { return thread_; }

  /// Offers the batch to the executor. REQUIRES: nothing is published.
  void Publish(Batch& batch);
  /// Takes the published batch back for the worker. Null when nothing is published, or the executor
  /// has taken the batch already.
  Batch* TakeBack();
  /// The finished batches as a list, linked by `next_done` from the first to be finished.
  Batch* TakeDone();

  /// The counters of the turns of batches. They count only while a batch is executed.
  StatBlock& stats() { return stats_; }

 private:
  void Main(engine::Session& session);
  void GiveAllBack();
  /// Returns the next batch. Null when the executor is to end.
  Batch* Next(engine::Session& session);
  void Done(Batch& batch);
  void Describe(engine::Session& session, size_t requests);

  engine::SessionFactory& sessions_;
  const std::function<void()> wake_;
  StatBlock stats_;
  base::Mutex mutex_;
  base::Condition work_;
  Batch* published_ GUARDED_BY(mutex_) = nullptr;
  Batch* first_done_ GUARDED_BY(mutex_) = nullptr;
  Batch* last_done_ GUARDED_BY(mutex_) = nullptr;
  bool waits_ GUARDED_BY(mutex_) = false;  ///< The executor's thread waits for work.
  bool stopping_ GUARDED_BY(mutex_) = false;

  int64_t described_ms_ = 0;
  SessionThread thread_;
};

}  // namespace rowsocket::exec
