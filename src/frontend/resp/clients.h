// The connections of a RESP port as they show themselves to each other, for CLIENT LIST and CLIENT
// KILL.
//
// Flow: a connection enters with its number, shows its facts anew whenever they change, and leaves.
//       A connection that a client has ended is no longer listed, though its worker sees the end
//       later.
// Threads: any; lists are copies.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace rowsocket::frontend {

/// The user that a connection without an account has, and that AUTH with one word means.
inline constexpr std::string_view kRespDefaultUser = "default";

/// What a connection shows about itself.
struct RespFacts {
  std::string name, library, library_version;
  std::string user{kRespDefaultUser};  ///< What CLIENT LIST shows as `user`.
  std::string account;                 ///< user@host; empty: the connection has no account.
  std::string database = "0";
  int version = 2;
  int64_t since_ms = base::CoarseNowMs();
};

/// What a connection is doing.
/// Threads: the connection's worker writes it, any reads it.
struct RespActivity {
  std::atomic<uint32_t> verb{0};  ///< The number of the last command (RespCommandName).
  std::atomic<int64_t> since_ms{base::CoarseNowMs()};  ///< When the connection began its last turn.
  std::atomic<int64_t> queued{-1};     ///< Commands queued after MULTI; -1: no MULTI.
  std::atomic<size_t> multi_bytes{0};  ///< Bytes of the commands after the last MULTI.
  std::atomic<bool> waits{false};      ///< The connection's request waits for a lock.
};

struct RespClient {
  uint64_t id = 0;
  RespFacts facts;
  uint32_t verb = 0;
  int64_t active_ms = 0;
  int64_t queued = -1;
  size_t multi_bytes = 0;
  bool waits = false;
};

inline RespClient RespClientOf(uint64_t id, const RespFacts& facts, const RespActivity& activity) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const int64_t queued = activity.queued.load(kRelaxed);
  return {id,
          facts,
          activity.verb.load(kRelaxed),
          activity.since_ms.load(kRelaxed),
          queued,
          queued < 0 ? 0 : activity.multi_bytes.load(kRelaxed),
          activity.waits.load(kRelaxed)};
}

class RespClients {
 public:
  /// Enters the connection, or shows its new facts. `activity` must live until the connection
  /// leaves.
  void Show(uint64_t id, const RespFacts& facts, const RespActivity& activity) {
    RespFacts copy = facts;  // If there is no memory for the copy, the connection is not listed.
    const base::MutexLock lock(mutex_);
    Shown& shown = clients_[id];
    shown.facts = std::move(copy);
    shown.activity = &activity;
  }
  /// Notes that CLIENT KILL has ended the connection, which its worker has not seen yet.
  void NoteEnded(uint64_t id) {
    const base::MutexLock lock(mutex_);
    const auto found = clients_.find(id);
    if (found != clients_.end()) found->second.is_ended = true;
  }
  void Leave(uint64_t id) {
    const base::MutexLock lock(mutex_);
    clients_.erase(id);
  }
  /// All connections that no client has ended, in the order of their numbers.
  std::vector<RespClient> All() const {
    const base::MutexLock lock(mutex_);
    std::vector<RespClient> all;
    for (const auto& [id, shown] : clients_) {
      if (shown.is_ended) continue;
      all.push_back(RespClientOf(id, shown.facts, *shown.activity));
    }
    return all;
  }
  /// How many connections have a request that waits for a lock.
  size_t CountWaiting() const {
    const base::MutexLock lock(mutex_);
    return static_cast<size_t>(
        std::count_if(clients_.begin(), clients_.end(), [](const auto& entry) {
          return entry.second.activity->waits.load(std::memory_order_relaxed);
        }));
  }

 private:
  struct Shown {
    RespFacts facts;
    const RespActivity* activity = nullptr;
    bool is_ended = false;
  };
  mutable base::Mutex mutex_;
  std::map<uint64_t, Shown> clients_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::frontend
