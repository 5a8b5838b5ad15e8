// The thread that removes what has expired, and carries out delayed flushes.
//
// Flow: wakes every kPurgeTickMs while there is something to remove, else every kPurgeIdleMs, and
// when a flush is due. Each round removes a chunk of each container (memcached_purge.h), in a
// transaction of its own, so that other writers and replicas are not held up. A purge passes over a
// row that is locked; a flush waits for it, as one that is due at once does. Threads: Start and
// Stop from the owner's. Limits: rows_per_second rows of one container. Errors: what fails is tried
// again later.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "engine/session.h"
#include "frontend/memcached_purge.h"
#include "frontend/memcached_shared.h"

namespace rowsocket::frontend {

class MemcachedHousekeeper {
 public:
  MemcachedHousekeeper(MemcachedShared& shared, engine::SessionFactory& sessions,
                       unsigned rows_per_second)
      : shared_(shared), sessions_(sessions), rows_per_second_(rows_per_second) {}
  ~MemcachedHousekeeper() { Stop(); }
  MemcachedHousekeeper(const MemcachedHousekeeper&) = delete;
  MemcachedHousekeeper& operator=(const MemcachedHousekeeper&) = delete;

  /// False when no thread can be had.
  bool Start();
  void Stop();

  /// One round over all containers, for tests: true when there may be more to do.
  bool RunOnce(engine::Session& session);

 private:
  void Main();
  void Loop(engine::Session& session);
  engine::Session* Interruptible(engine::Session* session);
  void FlushDue(const containers::Container& container);
  bool Flush(const containers::Container& container);
  bool Purge(engine::Session& session, const containers::Container& container);

  MemcachedShared& shared_;
  engine::SessionFactory& sessions_;
  const unsigned rows_per_second_;
  struct PurgeOf {
    MemcachedPurge purge;
    uint64_t thousandths = 0;  ///< Of a row that may be looked at, from the rounds before.
  };
  std::map<std::string, PurgeOf> purges_;  ///< By container.

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable ended_;
  engine::Session* session_ = nullptr;  ///< What Stop interrupts.
  bool has_ended_ = false;
  std::atomic<bool> stopping_{false};  ///< Written under the mutex.
};

}  // namespace rowsocket::frontend
