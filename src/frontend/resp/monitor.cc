#include "frontend/resp/monitor.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "frontend/resp/command.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/help.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/scan.h"

namespace rowsocket::frontend {

namespace {

/// The sections in the order of the reply; "all" and "everything" ask for all of them.
constexpr std::string_view kSections[] = {
    "server",  "clients", "memory",       "persistence",  "stats",      "replication", "cpu",
    "cluster", "refused", "commandstats", "latencystats", "errorstats", "keyspace"};
/// Whether INFO without an argument leaves the section out, as Redis does.
bool IsOnDemand(std::string_view section) {
  return section == "commandstats" || section == "latencystats";
}

bool IsAsked(RespArguments asked, std::string_view section) {
  if (asked.empty()) return !IsOnDemand(section);
  return std::any_of(asked.begin(), asked.end(), [&](std::string_view word) {
    if (IsWord(word, "all") || IsWord(word, "everything")) return true;
    return IsWord(word, section) || (IsWord(word, "default") && !IsOnDemand(section));
  });
}

/// The whole latencies of the commands, in the order of their names.
std::vector<exec::LatencyRow> Latencies(const exec::LatencyRegistry* registry) {
  if (registry == nullptr) return {};
  std::vector<exec::LatencyRow> rows = registry->Read();
  std::erase_if(rows, [](const exec::LatencyRow& row) {
    return row.phase != exec::Phase::kWhole || row.verb == 0;
  });
  return rows;
}

/// As Redis does, appends a map from powers of two of microseconds to how many calls took no
/// longer. The last key is a power of two, too, so that the map has all calls.
void AppendHistogram(const base::LatencyCounts& counts, resp::Version version, base::Buffer* out) {
  std::vector<std::pair<int64_t, uint64_t>> bounds;
  uint64_t calls = 0, shown = 0;
  for (size_t i = 0; i < base::kLatencyBuckets; ++i) {
    calls += counts.buckets[i];
    const double end_us = base::LatencyBucketEndUs(i);
    const auto bound = static_cast<int64_t>(end_us);
    const bool is_power = static_cast<double>(bound) == end_us && (bound & (bound - 1)) == 0;
    if (!is_power || calls == shown) continue;
    bounds.emplace_back(bound, calls);
    shown = calls;
  }
  resp::AppendMap(bounds.size(), version, out);
  for (const auto& [bound, count] : bounds) {
    resp::AppendInteger(bound, out);
    resp::AppendInteger(static_cast<int64_t>(count), out);
  }
}

std::string CpuLines() {
  const RespCpuTimes used = ProcessCpuTimes();
  char lines[256];
  snprintf(lines, sizeof(lines),
           "used_cpu_sys:%.6f\r\nused_cpu_user:%.6f\r\nused_cpu_sys_children:0.000000\r\n"
           "used_cpu_user_children:0.000000\r\n",
           used.system_s, used.user_s);
  return lines;
}

}  // namespace

void RespMonitor::AppendLatency(RespArguments arguments, resp::Version version,
                                base::Buffer& out) const {
  const std::string_view what = arguments[1];
  if (IsWord(what, "reset")) return resp::AppendInteger(0, &out);
  if (IsWord(what, "latest") && arguments.size() > 2) {
    return resp::AppendError(RespWrongCount("latency", "latest"), &out);
  }
  if (IsWord(what, "latest")) return resp::AppendArray(0, &out);
  if (IsWord(what, "histogram")) return AppendLatencies(arguments.subspan(2), version, out);
  AppendHelp(arguments, &out);
}

// On a port with accounts, a client may not see what others have asked for.
void RespMonitor::AppendSlowlog(RespArguments arguments, const model::Account* account,
                                base::Buffer& out) const {
  const std::string_view what = arguments[1];
  exec::SlowLog* const log = shared_.accounts ? nullptr : shared_.slow;
  if ((IsWord(what, "len") || IsWord(what, "reset")) && arguments.size() > 2) {
    return resp::AppendError(RespWrongCount("slowlog", what), &out);
  }
  if (IsWord(what, "len")) {
    return resp::AppendInteger(log != nullptr ? static_cast<int64_t>(log->size()) : 0, &out);
  }
  if (IsWord(what, "reset") && account != nullptr) {
    // An account may not clear what others look at.
    return resp::AppendError(
        "NOPERM SLOWLOG RESET is for connections with all rights: this one has an account's "
        "(resp_accounts, resp_user)",
        &out);
  }
  if (IsWord(what, "reset")) {
    if (log != nullptr) log->Clear();
    return resp::AppendSimple("OK", &out);
  }
  if (!IsWord(what, "get")) return AppendHelp(arguments, &out);
  if (arguments.size() > 3) {
    return resp::AppendError(
        "ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.", &out);
  }
  constexpr int64_t kUsualCount = 10;
  int64_t count = kUsualCount;
  if (arguments.size() > 2 && (!ParsePlainInteger(arguments[2], &count) || count < -1)) {
    return resp::AppendError("ERR count should be greater than or equal to -1", &out);
  }
  std::vector<exec::SlowEntry> entries;
  if (log != nullptr) entries = log->Last(count < 0 ? SIZE_MAX : static_cast<size_t>(count));
  resp::AppendArray(entries.size(), &out);
  for (const exec::SlowEntry& entry : entries) {
    resp::AppendArray(6, &out);
    resp::AppendInteger(static_cast<int64_t>(entry.number), &out);
    resp::AppendInteger(entry.began_s, &out);
    resp::AppendInteger(static_cast<int64_t>(entry.whole_us), &out);
    resp::AppendArray(2, &out);
    resp::AppendBulk(entry.verb, &out);
    resp::AppendBulk(entry.text, &out);
    resp::AppendBulk(entry.address, &out);
    resp::AppendBulk(entry.name, &out);
  }
}

// As in Redis, unknown names are skipped.
void RespMonitor::AppendLatencies(RespArguments commands, resp::Version version,
                                  base::Buffer& out) const {
  std::vector<exec::LatencyRow> rows = Latencies(shared_.latency);
  std::erase_if(rows, [&](const exec::LatencyRow& row) {
    const std::string_view name = RespCommandName(row.verb);
    return !commands.empty() &&
           std::none_of(commands.begin(), commands.end(),
                        [&](std::string_view word) { return IsWord(word, name); });
  });
  resp::AppendMap(rows.size(), version, &out);
  for (const exec::LatencyRow& row : rows) {
    resp::AppendBulk(RespCommandName(row.verb), &out);
    resp::AppendMap(2, version, &out);
    resp::AppendBulk("calls", &out);
    resp::AppendInteger(static_cast<int64_t>(row.counts.count()), &out);
    resp::AppendBulk("histogram_usec", &out);
    AppendHistogram(row.counts, version, &out);
  }
}

std::string RespMonitor::PercentileLines() const {
  std::string lines;
  for (const exec::LatencyRow& row : Latencies(shared_.latency)) {
    char line[256];
    snprintf(line, sizeof(line), "latency_percentiles_usec_%s:p50=%.3f,p99=%.3f,p99.9=%.3f\r\n",
             std::string(RespCommandName(row.verb)).c_str(), row.counts.QuantileUs(500),
             row.counts.QuantileUs(990), row.counts.QuantileUs(999));
    lines += line;
  }
  return lines;
}

// Rejected calls, which the latencies include, are subtracted, because Redis does not count them as
// calls.
std::string RespMonitor::CommandLines() const {
  std::vector<base::LatencyCounts> answered(kRespCommandNumbers);
  for (const exec::LatencyRow& row : Latencies(shared_.latency)) answered[row.verb] += row.counts;
  std::string lines;
  for (uint32_t verb = 1; verb < answered.size(); ++verb) {
    const RespFailures failures = shared_.info->failures(verb, flushes());
    const uint64_t answers = answered[verb].count();
    if (answers + failures.rejected + failures.failed == 0) continue;
    const uint64_t calls = answers - std::min(answers, failures.rejected);
    const double us = static_cast<double>(answered[verb].sum_ns) / 1000;
    char line[256];
    snprintf(line, sizeof(line),
             "cmdstat_%s:calls=%llu,usec=%.0f,usec_per_call=%.2f,rejected_calls=%llu,"
             "failed_calls=%llu\r\n",
             std::string(RespCommandName(verb)).c_str(), static_cast<unsigned long long>(calls), us,
             calls == 0 ? 0 : us / static_cast<double>(calls),
             static_cast<unsigned long long>(failures.rejected),
             static_cast<unsigned long long>(failures.failed));
    lines += line;
  }
  return lines;
}

bool RespMonitor::InfoCountsKeys(RespArguments sections) { return IsAsked(sections, "keyspace"); }

engine::Outcome RespMonitor::ExecuteInfo(const RespWork& work, engine::Session& session,
                                         base::Buffer& out) const {
  const RespCall& call = work.calls[0];
  std::string keys;
  const engine::Outcome outcome = CountDatabases(call, session, &keys);
  if (outcome.transaction_lost) return outcome;
  resp::AppendVerbatim(Info(call.arguments.subspan(1), keys), work.version, &out);
  return engine::Outcome();
}

std::string RespMonitor::Info(RespArguments sections, std::string_view keys) const {
  std::string text;
  for (const std::string_view section : kSections) {
    if (!IsAsked(sections, section)) continue;
    std::string title(section);
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    if (section == "cpu") title = "CPU";
    text += (text.empty() ? "# " : "\r\n# ") + title + "\r\n" + InfoSection(section, keys);
  }
  return text;
}

std::string RespMonitor::InfoSection(std::string_view section, std::string_view keys) const {
  const auto sum = [this](exec::Stat stat) {
    return std::to_string(shared_.stats != nullptr ? shared_.stats->Sum(stat) : 0) + "\r\n";
  };
  if (section == "server") {
    const model::Health health = shared_.health ? shared_.health() : model::Health();
    return "redis_version:" + std::string(kRespRedisVersion) +
           "\r\nrowsocket_version:" + shared_.version +
           "\r\nserver_version:" + std::string(health.version) +
           "\r\nrun_id:" + shared_.info->run_id() +
           "\r\nuptime_in_seconds:" + std::to_string(shared_.info->uptime_s()) +
           "\r\nredis_mode:standalone\r\narch_bits:64\r\n";
  }
  if (section == "clients") {
    const size_t waiting = shared_.clients != nullptr ? shared_.clients->CountWaiting() : 0;
    return "connected_clients:" + sum(exec::Stat::kConnections) +
           "blocked_clients:" + std::to_string(waiting) + "\r\n";
  }
  if (section == "memory") {
    return "used_memory:" + std::to_string(ResidentBytes()) +
           "\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
  }
  if (section == "persistence") return "loading:0\r\n";
  if (section == "stats") {
    RespCounts counts = shared_.info->counts();
    counts += uncounted_;
    return "total_connections_received:" + sum(exec::Stat::kConnectionsAccepted) +
           "total_commands_processed:" + std::to_string(counts.commands) +
           "\r\nkeyspace_hits:" + std::to_string(counts.hits) +
           "\r\nkeyspace_misses:" + std::to_string(counts.misses) +
           "\r\ntotal_net_input_bytes:" + sum(exec::Stat::kBytesReceived) +
           "total_net_output_bytes:" + sum(exec::Stat::kBytesSent) +
           "rejected_connections:" + sum(exec::Stat::kConnectionsRefused) +
           "total_error_replies:" + std::to_string(shared_.info->errors(flushes())) + "\r\n";
  }
  if (section == "replication") {
    return "role:" + std::string(shared_.takes_writes() ? "master" : "slave") +
           "\r\nconnected_slaves:0\r\n";
  }
  if (section == "cpu") return CpuLines();
  if (section == "errorstats") return shared_.info->ErrorLines(flushes());
  if (section == "cluster") return "cluster_enabled:0\r\n";
  if (section == "keyspace") return std::string(keys);
  if (section == "refused") return shared_.info->RefusedLines();
  return section == "latencystats" ? PercentileLines() : CommandLines();
}

}  // namespace rowsocket::frontend
