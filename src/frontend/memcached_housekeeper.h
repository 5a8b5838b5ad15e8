// The thread that removes what has expired, and carries out delayed flushes.
//
// Flow: wakes every kPurgeTickMs while there is something to remove, else every kPurgeIdleMs, and
// when a flush is due. Finds candidates by consistent reads; deletes each by an edit that looks at
// the locked row again; one transaction a chunk, so that other writers and replicas are not held
// up. Threads: Start and Stop from the owner's. Limits: rows_per_second rows of one container;
// where no index begins with the column of expiry, kPurgeScanRows rows are looked at in a tick.
// Errors: a chunk that fails is tried again later; rows that are locked are left alone.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "engine/session.h"
#include "frontend/memcached_keys.h"
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
  void FlushDue(engine::Session& session, const containers::Container& container);
  bool Purge(engine::Session& session, const containers::Container& container);
  bool FindExpired(engine::Session& session, const containers::Container& container,
                   std::vector<FoundKey>* expired);
  size_t Delete(engine::Session& session, const containers::Container& container,
                const std::vector<FoundKey>& expired);

  MemcachedShared& shared_;
  engine::SessionFactory& sessions_;
  const unsigned rows_per_second_;
  std::map<std::string, FoundKey> scanned_to_;  ///< By container: where its scan goes on.

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  engine::Session* session_ = nullptr;
  bool stopping_ = false;
};

}  // namespace rowsocket::frontend
