#include "plugin/memcached_status.h"

#include <array>
#include <mutex>

#include "plugin/memcached_plugin.h"
#include "plugin/memcached_runtime.h"

namespace rowsocket::plugin {

namespace {

using exec::Stat;
using frontend::MemcachedStat;

struct ExecNamed {
  const char* name;
  Stat stat;
};
constexpr ExecNamed kExecNamed[] = {{"connections", Stat::kConnections},
                                    {"connections_accepted", Stat::kConnectionsAccepted},
                                    {"connections_refused", Stat::kConnectionsRefused},
                                    {"connections_timed_out", Stat::kConnectionsTimedOut},
                                    {"bytes_received", Stat::kBytesReceived},
                                    {"bytes_sent", Stat::kBytesSent},
                                    {"turns", Stat::kTurns},
                                    {"batches", Stat::kBatches},
                                    {"batch_requests", Stat::kBatchRequests},
                                    {"commits", Stat::kCommits},
                                    {"commit_failures", Stat::kCommitFailures},
                                    {"batch_retries", Stat::kBatchRetries},
                                    {"lock_waits", Stat::kLockWaits}};

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

constexpr size_t kExec = std::size(kExecNamed);
constexpr size_t kOwn = std::size(kOwnNamed);
constexpr size_t kAll = kExec + kOwn + 2;

std::mutex source_mutex;
const MemcachedRuntime* source = nullptr;

/// A session's own copy: the server reads the values after the function has returned.
struct Snapshot {
  std::array<st_mysql_show_var, kAll + 1> variables{};
  std::array<ulonglong, kAll> values{};
};
thread_local Snapshot snapshot;

uint64_t AverageOf(MemcachedStat sum, MemcachedStat count) {
  const frontend::MemcachedCounters& counters = source->shared().counters;
  return frontend::Average(counters.Sum(sum), counters.Sum(count));
}

int Show(MYSQL_THD, st_mysql_show_var* var, void*, system_status_var*, enum_var_type) {
  std::lock_guard lock(source_mutex);
  size_t at = 0;
  const auto add = [&at](const char* name, uint64_t value) {
    snapshot.values[at] = value;
    snapshot.variables[at] = {name, &snapshot.values[at], SHOW_LONGLONG};
    ++at;
  };
  for (const ExecNamed& each : kExecNamed) {
    add(each.name, source != nullptr ? source->stats().Sum(each.stat) : 0);
  }
  for (const OwnNamed& each : kOwnNamed) {
    add(each.name, source != nullptr ? source->shared().counters.Sum(each.stat) : 0);
  }
  using Own = MemcachedStat;
  add("get_latency_us", source != nullptr ? AverageOf(Own::kReadMicros, Own::kReadsTimed) : 0);
  add("set_latency_us", source != nullptr ? AverageOf(Own::kWriteMicros, Own::kWritesTimed) : 0);
  snapshot.variables[at] = {nullptr, nullptr, SHOW_UNDEF};
  var->type = SHOW_ARRAY;
  var->value = snapshot.variables.data();
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
