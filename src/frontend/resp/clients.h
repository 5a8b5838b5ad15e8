// The connections of a RESP port as each of them may see the others: for CLIENT LIST and CLIENT
// KILL.
//
// Flow: a connection enters with its number, shows its facts anew whenever they change, and leaves.
// Threads: any; what is listed are copies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace rowsocket::frontend {

/// What a connection shows of itself.
struct RespFacts {
  std::string name, library, library_version;
  std::string user = "default";  ///< As CLIENT LIST shows it.
  std::string account;           ///< user@host; empty: it has none.
  std::string database = "0";
  int version = 2;
  int64_t since_ms = base::CoarseNowMs();
};

struct RespClient {
  uint64_t id = 0;
  RespFacts facts;
};

class RespClients {
 public:
  void Show(uint64_t id, const RespFacts& facts) {
    const base::MutexLock lock(mutex_);
    clients_[id] = facts;
  }
  void Leave(uint64_t id) {
    const base::MutexLock lock(mutex_);
    clients_.erase(id);
  }
  /// In the order of their numbers.
  std::vector<RespClient> All() const {
    const base::MutexLock lock(mutex_);
    std::vector<RespClient> all;
    for (const auto& [id, facts] : clients_) all.push_back({id, facts});
    return all;
  }

 private:
  mutable base::Mutex mutex_;
  std::map<uint64_t, RespFacts> clients_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::frontend
