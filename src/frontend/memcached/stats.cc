// The reply to `stats`.
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "frontend/memcached/replies.h"
#include "protocol/memcached/encoder.h"

namespace rowsocket::frontend {

using exec::Stat;
using memcached::Command;

namespace {

/// Writes one STAT after the other.
class StatWriter {
 public:
  StatWriter(const Command& command, base::Buffer& out) : command_(command), out_(out) {}

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

/// Counters since the last `stats reset`. An object holds reset_mutex as long as it lives, which
/// the compiler's analysis cannot see.
class Since {
 public:
  explicit Since(MemcachedShared& shared) : shared_(shared), lock_(shared.reset_mutex) {}

  uint64_t operator()(Stat stat) const NO_THREAD_SAFETY_ANALYSIS {
    return Of(shared_.exec_stats, exec::kStatInfo, shared_.exec_at_reset, stat);
  }
  uint64_t operator()(MemcachedStat stat) const NO_THREAD_SAFETY_ANALYSIS {
    return Of(shared_.counters, kMemcachedStatInfo, shared_.at_reset, stat);
  }

  void Reset() NO_THREAD_SAFETY_ANALYSIS {
    Remember(shared_.exec_stats, &shared_.exec_at_reset);
    Remember(shared_.counters, &shared_.at_reset);
  }

 private:
  using Sums = std::vector<uint64_t>;

  template <typename Counters, typename Infos, typename E>
  static uint64_t Of(const Counters& counters, const Infos& infos, const Sums& at_reset, E stat) {
    const uint64_t sum = counters.Sum(stat);
    const auto at = static_cast<size_t>(stat);
    const bool is_gauge = infos[at].type == base::CounterType::kGauge;
    return is_gauge || at >= at_reset.size() ? sum : sum - at_reset[at];
  }
  template <typename Counters>
  static void Remember(const Counters& counters, Sums* at_reset) {
    at_reset->resize(Counters::kCounters);
    for (size_t i = 0; i < at_reset->size(); ++i) {
      (*at_reset)[i] = counters.Sum(static_cast<typename Counters::Counter>(i));
    }
  }

  MemcachedShared& shared_;
  const base::MutexLock<std::mutex> lock_;
};

std::string Seconds(const timeval& time) {
  std::string micros = std::to_string(time.tv_usec);
  micros.insert(0, 6 - micros.size(), '0');
  return std::to_string(time.tv_sec) + "." + micros;
}

void AddProcess(const MemcachedShared& shared, StatWriter& writer) {
  const int64_t up_ms = base::CoarseNowMs() - shared.started_ms;
  writer.Add("pid", static_cast<uint64_t>(getpid()));
  writer.Add("uptime", static_cast<uint64_t>(up_ms / 1000));
  writer.Add("time", static_cast<uint64_t>(keyspace::WallClockMs() / 1000));
  writer.Add("version", shared.settings.version);
  writer.Add("pointer_size", 8 * sizeof(void*));
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    writer.Add("rusage_user", Seconds(usage.ru_utime));
    writer.Add("rusage_system", Seconds(usage.ru_stime));
  }
}

template <typename E, size_t kCount>
void AddNamed(const base::CounterInfo (&infos)[kCount], const Since& since, StatWriter& writer) {
  for (size_t i = 0; i < kCount; ++i) {
    if (!infos[i].stats.empty()) writer.Add(infos[i].stats, since(static_cast<E>(i)));
  }
}

void AddCounters(MemcachedShared& shared, StatWriter& writer) {
  shared.ReadLatencies();
  const Since since(shared);
  writer.Add("max_connections", shared.settings.limits.connections_max);
  AddNamed<Stat>(exec::kStatInfo, since, writer);
  AddNamed<MemcachedStat>(kMemcachedStatInfo, since, writer);
  writer.Add("threads", shared.settings.threads);
}

/// Adds the containers. `tells_tables`: the client may know which tables and columns there are.
/// Clients with an account may not, because what they may see depends on their privileges.
void AddContainers(const keyspace::Snapshot& snapshot, bool tells_tables, StatWriter& writer) {
  const auto load = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const keyspace::Options& options = snapshot.config.options;
  for (const std::string* problem :
       {&snapshot.config.problem, &snapshot.config.left_out, &options.policy_problem}) {
    if (!problem->empty() && tells_tables) writer.Add("mapping:error", *problem);
  }
  for (const auto& container : snapshot.containers) {
    const std::string prefix = "container:" + container->name() + ":";
    if (!container->usable()) {
      writer.Add(prefix + "error", tells_tables ? container->problem : "disabled");
      continue;
    }
    const keyspace::ContainerCounters& counters = container->state->counters;
    if (tells_tables)
      writer.Add(prefix + "table", container->definition.db + "." + container->definition.table);
    writer.Add(prefix + "hits", load(counters.hits));
    writer.Add(prefix + "misses", load(counters.misses));
    writer.Add(prefix + "writes", load(counters.writes));
    writer.Add(prefix + "deletes", load(counters.deletes));
    writer.Add(prefix + "errors", load(counters.errors));
    writer.Add(prefix + "purged", load(counters.purged));
  }
}

void AddSettings(const MemcachedShared& shared, StatWriter& writer) {
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
  writer.Add("auth_enabled_sasl", settings.accounts ? "yes" : "no");
  writer.Add("item_size_max", settings.limits.item_bytes_max);
  writer.Add("maxconns_fast", "yes");
  writer.Add("flush_enabled", settings.may_flush ? "yes" : "no");
  writer.Add("idle_timeout", settings.limits.idle_timeout_s);
}

void AddHealth(const MemcachedShared& shared, StatWriter& writer) {
  const auto& read = shared.settings.health;
  const model::Health health = read ? read() : model::Health();
  writer.Add("role", model::Name(health.role));
  writer.Add("state", health.state);
  writer.Add("reads", uint64_t{health.reads});
  writer.Add("writes", uint64_t{health.writes});
  writer.Add("server_version", health.version);
  if (health.lag_s)
    writer.Add("lag", *health.lag_s);
  else
    writer.Add("lag", "NULL");
}

}  // namespace

void AppendStats(MemcachedShared& shared, const MemcachedWork& work, const model::Account* account,
                 base::Buffer& out) {
  const std::string_view what = work.command.stats_word(0);
  const std::string_view mode = work.command.stats_word(1);
  StatWriter writer(work.command, out);
  if (what.empty()) {
    AddProcess(shared, writer);
    AddCounters(shared, writer);
    AddContainers(*shared.keyspaces->catalog.current(), account == nullptr, writer);
  } else if (what == "reset" && account != nullptr) {
    // The counters are those of all clients, and an account may not clear what others look at.
    return AppendEngineError(work.command, {model::ErrorCode::kDenied}, out);
  } else if (what == "reset") {
    Since(shared).Reset();
    shared.details.Clear();
    return memcached::AppendReset(work.command, &out);
  } else if (what == "settings") {
    AddSettings(shared, writer);
  } else if (what == "detail" && account != nullptr) {
    // The prefixes are those of other clients' keys, which not every account may see.
    return AppendEngineError(work.command, {model::ErrorCode::kDenied}, out);
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
  } else if (what == "rowsocket") {
    AddHealth(shared, writer);
  } else if (what == "sizes") {
    // memcached answers this if it does not track sizes, which is its default.
    writer.Add("sizes_status", "disabled");
  } else if (what != "items" && what != "slabs" && what != "conns" &&
             (what != "cachedump" || mode.empty())) {
    // These groups describe memcached's own memory, which this server does not have: they are
    // empty.
    return memcached::AppendError(work.command, memcached::Error::kNoSuchStats, &out);
  }
  writer.End();
}

}  // namespace rowsocket::frontend
