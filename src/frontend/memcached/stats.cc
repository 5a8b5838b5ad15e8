// The reply to `stats`.
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "frontend/memcached/replies.h"
#include "protocol/memcached/encoder.h"

namespace rowsocket::frontend {

using exec::Stat;
using memcached::Command;

namespace {

/// Writes one STAT after the other.
class Writer {
 public:
  Writer(const Command& command, base::Buffer& out) : command_(command), out_(out) {}

  void Add(std::string_view name, uint64_t value) {
    memcached::AppendStat(command_, name, value, &out_);
  }
  void Add(std::string_view name, std::string_view value) {
    memcached::AppendStat(command_, name, value, &out_);
  }
  void End() { memcached::AppendStatsEnd(command_, &out_); }

 private:
  const Command& command_;
  base::Buffer& out_;
};

/// Gauges are not reset.
bool IsGauge(Stat stat) { return stat == Stat::kConnections; }

/// Counters since the last `stats reset`.
class Since {
 public:
  explicit Since(MemcachedShared& shared) : shared_(shared), lock_(shared.reset_mutex) {}

  uint64_t operator()(Stat stat) const {
    const uint64_t sum = shared_.exec_stats.Sum(stat);
    const auto at = static_cast<size_t>(stat);
    return IsGauge(stat) || at >= shared_.exec_base.size() ? sum : sum - shared_.exec_base[at];
  }
  uint64_t operator()(MemcachedStat stat) const {
    const uint64_t sum = shared_.counters.Sum(stat);
    const auto at = static_cast<size_t>(stat);
    return at >= shared_.base.size() ? sum : sum - shared_.base[at];
  }

  void Reset() {
    shared_.exec_base.resize(static_cast<size_t>(Stat::kErrorsFirst));
    for (size_t i = 0; i < shared_.exec_base.size(); ++i) {
      shared_.exec_base[i] = shared_.exec_stats.Sum(static_cast<Stat>(i));
    }
    shared_.base.resize(MemcachedCounters::kCounters);
    for (size_t i = 0; i < shared_.base.size(); ++i) {
      shared_.base[i] = shared_.counters.Sum(static_cast<MemcachedStat>(i));
    }
  }

 private:
  MemcachedShared& shared_;
  const std::lock_guard<std::mutex> lock_;
};

std::string Seconds(const timeval& time) {
  std::string micros = std::to_string(time.tv_usec);
  micros.insert(0, 6 - micros.size(), '0');
  return std::to_string(time.tv_sec) + "." + micros;
}

void AddProcess(const MemcachedShared& shared, Writer& writer) {
  const int64_t now_ms = WallClockMs();
  writer.Add("pid", static_cast<uint64_t>(getpid()));
  writer.Add("uptime", static_cast<uint64_t>((now_ms - shared.started_ms) / 1000));
  writer.Add("time", static_cast<uint64_t>(now_ms / 1000));
  writer.Add("version", shared.settings.version);
  writer.Add("pointer_size", 8 * sizeof(void*));
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    writer.Add("rusage_user", Seconds(usage.ru_utime));
    writer.Add("rusage_system", Seconds(usage.ru_stime));
  }
}

void AddCounters(MemcachedShared& shared, Writer& writer) {
  const Since since(shared);
  writer.Add("max_connections", shared.settings.limits.connections_max);
  writer.Add("curr_connections", since(Stat::kConnections));
  writer.Add("total_connections", since(Stat::kConnectionsAccepted));
  writer.Add("rejected_connections", since(Stat::kConnectionsRefused));
  using Own = MemcachedStat;
  struct Named {
    const char* name;
    Own stat;
  };
  static constexpr Named kNamed[] = {{"cmd_get", Own::kCmdGet},
                                     {"cmd_set", Own::kCmdSet},
                                     {"cmd_flush", Own::kCmdFlush},
                                     {"cmd_touch", Own::kCmdTouch},
                                     {"cmd_meta", Own::kCmdMeta},
                                     {"get_hits", Own::kGetHits},
                                     {"get_misses", Own::kGetMisses},
                                     {"get_expired", Own::kGetExpired},
                                     {"delete_misses", Own::kDeleteMisses},
                                     {"delete_hits", Own::kDeleteHits},
                                     {"incr_misses", Own::kIncrMisses},
                                     {"incr_hits", Own::kIncrHits},
                                     {"decr_misses", Own::kDecrMisses},
                                     {"decr_hits", Own::kDecrHits},
                                     {"cas_misses", Own::kCasMisses},
                                     {"cas_hits", Own::kCasHits},
                                     {"cas_badval", Own::kCasBadval},
                                     {"touch_hits", Own::kTouchHits},
                                     {"touch_misses", Own::kTouchMisses},
                                     {"total_items", Own::kSets},
                                     {"purged", Own::kPurged},
                                     {"errors", Own::kErrors}};
  for (const Named& each : kNamed) writer.Add(each.name, since(each.stat));
  writer.Add("bytes_read", since(Stat::kBytesReceived));
  writer.Add("bytes_written", since(Stat::kBytesSent));
  writer.Add("batches", since(Stat::kBatches));
  writer.Add("batch_requests", since(Stat::kBatchRequests));
  writer.Add("commits", since(Stat::kCommits));
  writer.Add("commit_failures", since(Stat::kCommitFailures));
  writer.Add("lock_waits", since(Stat::kLockWaits));
  writer.Add("get_latency_us", Average(since(Own::kReadMicros), since(Own::kReadsTimed)));
  writer.Add("set_latency_us", Average(since(Own::kWriteMicros), since(Own::kWritesTimed)));
  writer.Add("threads", shared.settings.threads);
}

void AddContainers(const containers::Snapshot& snapshot, Writer& writer) {
  const auto load = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const containers::Options& options = snapshot.config.options;
  for (const std::string* problem : {&snapshot.config.problem, &options.policy_problem}) {
    if (!problem->empty()) writer.Add("mapping:error", *problem);
  }
  for (const auto& container : snapshot.containers) {
    const std::string prefix = "container:" + container->name() + ":";
    if (!container->usable()) {
      writer.Add(prefix + "error", container->problem);
      continue;
    }
    const containers::ContainerCounters& counters = container->state->counters;
    writer.Add(prefix + "table", container->definition.db + "." + container->definition.table);
    writer.Add(prefix + "hits", load(counters.hits));
    writer.Add(prefix + "misses", load(counters.misses));
    writer.Add(prefix + "writes", load(counters.writes));
    writer.Add(prefix + "deletes", load(counters.deletes));
    writer.Add(prefix + "errors", load(counters.errors));
    writer.Add(prefix + "purged", load(counters.purged));
  }
}

void AddSettings(const MemcachedShared& shared, Writer& writer) {
  const MemcachedSettings& settings = shared.settings;
  writer.Add("maxbytes", uint64_t{0});
  writer.Add("maxconns", settings.limits.connections_max);
  writer.Add("tcpport", settings.port);
  writer.Add("udpport", uint64_t{0});
  writer.Add("inter", settings.address.empty() ? "NULL" : settings.address);
  writer.Add("verbosity", uint64_t{0});
  writer.Add("oldest", uint64_t{0});
  writer.Add("evictions", "off");
  writer.Add("domain_socket", settings.socket.empty() ? "NULL" : settings.socket);
  writer.Add("num_threads", settings.threads);
  writer.Add("stat_key_prefix", ":");
  writer.Add("detail_enabled", shared.details.on() ? "yes" : "no");
  writer.Add("cas_enabled", "yes");
  writer.Add("tcp_backlog", settings.backlog);
  writer.Add("binding_protocol", "auto-negotiate");
  writer.Add("auth_enabled_sasl", "no");
  writer.Add("item_size_max", settings.limits.item_bytes_max);
  writer.Add("maxconns_fast", "yes");
  writer.Add("flush_enabled", settings.may_flush ? "yes" : "no");
  writer.Add("idle_timeout", settings.limits.idle_timeout_s);
}

}  // namespace

void AppendStats(MemcachedShared& shared, const Work& work, base::Buffer& out) {
  const std::string_view what = work.command.stats_word(0);
  const std::string_view mode = work.command.stats_word(1);
  Writer writer(work.command, out);
  if (what.empty()) {
    AddProcess(shared, writer);
    AddCounters(shared, writer);
    AddContainers(*shared.catalog.current(), writer);
  } else if (what == "reset") {
    Since(shared).Reset();
    shared.details.Clear();
    return memcached::AppendReset(work.command, &out);
  } else if (what == "settings") {
    AddSettings(shared, writer);
  } else if (what == "detail" && (mode == "on" || mode == "off")) {
    shared.details.Switch(mode == "on");
    return memcached::AppendOk(work.command, &out);
  } else if (what == "detail" && mode == "dump") {
    const std::string dump = shared.details.Dump();
    if (work.command.dialect == memcached::Dialect::kBinary)
      writer.Add("detailed", dump);
    else
      out.Append(dump);
  } else if (what == "detail") {
    return memcached::AppendError(work.command, memcached::Error::kStatsDetailUsage, &out);
  } else if (what != "items" && what != "slabs" && what != "sizes" && what != "conns" &&
             (what != "cachedump" || mode.empty())) {
    // Those belong to memcached's memory, of which there is none: they are known, and empty.
    return memcached::AppendError(work.command, memcached::Error::kNoSuchStats, &out);
  }
  writer.End();
}

}  // namespace rowsocket::frontend
