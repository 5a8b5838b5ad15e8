#include "frontend/memcached/shared.h"

#include "protocol/memcached/command.h"

namespace rowsocket::frontend {

using memcached::Verb;

namespace {

class Average {
 public:
  void Add(const base::LatencyCounts& counts) {
    count_ += counts.count();
    sum_ns_ += counts.sum_ns;
  }
  uint64_t us() const { return count_ == 0 ? 0 : sum_ns_ / count_ / 1000; }

 private:
  uint64_t count_ = 0;
  uint64_t sum_ns_ = 0;
};

}  // namespace

void MemcachedShared::ReadLatencies() {
  Average gets, sets;
  for (const exec::LatencyRow& row : latency.Read()) {
    if (row.phase != exec::Phase::kWhole) continue;
    const auto verb = static_cast<Verb>(row.verb);
    if (verb == Verb::kGet || verb == Verb::kMetaDebug)
      gets.Add(row.counts);
    else if (memcached::KindOf(verb) != memcached::VerbKind::kNoItem)
      sets.Add(row.counts);
  }
  counters.Set(MemcachedStat::kGetLatencyUs, gets.us());
  counters.Set(MemcachedStat::kSetLatencyUs, sets.us());
}

}  // namespace rowsocket::frontend
