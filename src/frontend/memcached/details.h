// `stats detail`: how often keys with the same beginning, up to a `:`, were read and written.
//
// Threads: all; one lock while it is on, one load while it is off.
// Limits: kMemcachedPrefixesMax beginnings. Further ones are not counted; neither are keys without
// a `:`, and beginnings with a blank or a control byte.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "model/limits.h"

namespace rowsocket::frontend {

class MemcachedDetails {
 public:
  struct Counts {
    uint64_t gets = 0;
    uint64_t hits = 0;
    uint64_t sets = 0;
    uint64_t deletes = 0;
  };

  bool on() const { return on_.load(std::memory_order_relaxed); }
  void Switch(bool on) { on_.store(on, std::memory_order_relaxed); }
  void Clear() {
    const base::MutexLock lock(mutex_);
    counts_.clear();
  }

  void Add(std::string_view key, const Counts& counts) {
    const size_t end = key.find(':');
    if (end == std::string_view::npos) return;
    const std::string_view prefix = key.substr(0, end);
    // A key of a binary request, or in base64, may hold bytes that would end a line of the dump.
    const auto breaks = [](unsigned char byte) { return byte <= ' ' || byte == 0x7f; };
    if (std::any_of(prefix.begin(), prefix.end(), breaks)) return;
    const base::MutexLock lock(mutex_);
    auto found = counts_.find(prefix);
    if (found == counts_.end()) {
      if (counts_.size() >= model::kMemcachedPrefixesMax) return;
      found = counts_.emplace(prefix, Counts()).first;
    }
    found->second.gets += counts.gets;
    found->second.hits += counts.hits;
    found->second.sets += counts.sets;
    found->second.deletes += counts.deletes;
  }

  /// One line for each beginning, as `PREFIX foo get 2 hit 1 set 1 del 0`.
  std::string Dump() const {
    const base::MutexLock lock(mutex_);
    std::string dump;
    for (const auto& [prefix, counts] : counts_) {
      dump += "PREFIX " + prefix + " get " + std::to_string(counts.gets) + " hit " +
              std::to_string(counts.hits) + " set " + std::to_string(counts.sets) + " del " +
              std::to_string(counts.deletes) + "\r\n";
    }
    return dump;
  }

 private:
  std::atomic<bool> on_{false};
  mutable base::Mutex mutex_;
  std::map<std::string, Counts, std::less<>> counts_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::frontend
