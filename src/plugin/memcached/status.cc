#include "plugin/memcached/status.h"

#include <iterator>
#include <mutex>

#include "plugin/handlersocket/status.h"
#include "plugin/memcached/plugin.h"
#include "plugin/memcached/runtime.h"
#include "plugin/shown_counters.h"

namespace rowsocket::plugin {

namespace {

using exec::Stat;
using frontend::MemcachedStat;

/// Those of the layers below that mean something here; named as for HandlerSocket.
constexpr Stat kShared[] = {Stat::kConnections,
                            Stat::kConnectionsAccepted,
                            Stat::kConnectionsRefused,
                            Stat::kConnectionsTimedOut,
                            Stat::kConnectionsLost,
                            Stat::kBytesReceived,
                            Stat::kBytesSent,
                            Stat::kTurns,
                            Stat::kBatches,
                            Stat::kBatchRequests,
                            Stat::kCommits,
                            Stat::kCommitFailures,
                            Stat::kBatchRetries,
                            Stat::kLockWaits};

struct OwnNamed {
  const char* name;
  MemcachedStat stat;
};
constexpr OwnNamed kOwnNamed[] = {{"gets", MemcachedStat::kCmdGet},
                                  {"hits", MemcachedStat::kGetHits},
                                  {"misses", MemcachedStat::kGetMisses},
                                  {"expired", MemcachedStat::kGetExpired},
                                  {"sets", MemcachedStat::kSets},
                                  {"cmd_set", MemcachedStat::kCmdSet},
                                  {"touches", MemcachedStat::kCmdTouch},
                                  {"flushes", MemcachedStat::kCmdFlush},
                                  {"meta_commands", MemcachedStat::kCmdMeta},
                                  {"delete_hits", MemcachedStat::kDeleteHits},
                                  {"delete_misses", MemcachedStat::kDeleteMisses},
                                  {"incr_hits", MemcachedStat::kIncrHits},
                                  {"incr_misses", MemcachedStat::kIncrMisses},
                                  {"decr_hits", MemcachedStat::kDecrHits},
                                  {"decr_misses", MemcachedStat::kDecrMisses},
                                  {"cas_hits", MemcachedStat::kCasHits},
                                  {"cas_misses", MemcachedStat::kCasMisses},
                                  {"cas_badval", MemcachedStat::kCasBadval},
                                  {"touch_hits", MemcachedStat::kTouchHits},
                                  {"touch_misses", MemcachedStat::kTouchMisses},
                                  {"purged", MemcachedStat::kPurged},
                                  {"errors", MemcachedStat::kErrors}};

constexpr size_t kAverages = 2;

std::mutex source_mutex;
const MemcachedRuntime* source = nullptr;

thread_local ShownCounters<std::size(kShared) + std::size(kOwnNamed) + kAverages> shown;

uint64_t AverageOf(MemcachedStat sum, MemcachedStat count) {
  const frontend::MemcachedCounters& counters = source->shared().counters;
  return frontend::Average(counters.Sum(sum), counters.Sum(count));
}

int Show(MYSQL_THD, st_mysql_show_var* var, void*, system_status_var*, enum_var_type) {
  std::lock_guard lock(source_mutex);
  const bool runs = source != nullptr;
  shown.Clear();
  for (const Stat stat : kShared) {
    shown.Add(CounterName(stat), runs ? source->stats().Sum(stat) : 0);
  }
  for (const OwnNamed& each : kOwnNamed) {
    shown.Add(each.name, runs ? source->shared().counters.Sum(each.stat) : 0);
  }
  using Own = MemcachedStat;
  shown.Add("get_latency_us", runs ? AverageOf(Own::kReadMicros, Own::kReadsTimed) : 0);
  shown.Add("set_latency_us", runs ? AverageOf(Own::kWriteMicros, Own::kWritesTimed) : 0);
  shown.ShowIn(var);
  return 0;
}

}  // namespace

void SetMemcachedStatusSource(const MemcachedRuntime* runtime) {
  std::lock_guard lock(source_mutex);
  source = runtime;
}

st_mysql_show_var kMemcachedStatusVariables[] = {
    {"Daemon_memcached", reinterpret_cast<void*>(&Show), SHOW_FUNC},
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace rowsocket::plugin
