#include "bench/report.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

namespace rowsocket::bench {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Microseconds with three decimals.
double Us(double ns) { return std::round(ns) / 1000; }

double PerRequestUs(double seconds, uint64_t requests) {
  return requests == 0 ? 0 : Us(seconds * 1e9 / static_cast<double>(requests));
}

Json OptionsJson(const Options& o) {
  return {{"workload", o.workload},
          {"host", o.host},
          {"port", o.port},
          {"socket", o.socket_path},
          {"tls", o.tls},
          {"connections", o.connections},
          {"depth", o.depth},
          {"threads", o.threads},
          {"idle", o.idle},
          {"idle_hello", o.idle_hello},
          {"rate", o.rate},
          {"seconds", o.seconds},
          {"warmup", o.warmup},
          {"requests", o.requests},
          {"seed", o.seed},
          {"db", o.db},
          {"table", o.table},
          {"index", o.index},
          {"key_column", o.key_column},
          {"key", o.key_text},
          {"columns", o.columns_text},
          {"values", o.values_text},
          {"update_columns", o.update_columns_text},
          {"set", o.set_text},
          {"rows", o.rows},
          {"keys", o.keys_text},
          {"batch", o.batch},
          {"limit", o.limit},
          {"first_id", o.first_id},
          {"read_percent", o.read_percent},
          {"expect_offset", o.expect_offset},
          {"expect_reply", o.expect_reply},
          {"stock_column", o.stock_column},
          {"guard", o.guard},
          {"hot_rows", o.hot_rows},
          {"cold_percent", o.cold_percent},
          {"before_images", o.before_images},
          {"verify_conservation", o.verify_conservation},
          {"ma_flags", o.ma_flags},
          {"redis_stock", o.redis_stock},
          {"pid", o.server_pid}};
}

Json LatencyJson(const Histogram& latency) {
  const auto at = [&](double percent) {
    return Us(static_cast<double>(latency.Percentile(percent)));
  };
  return {{"p50", at(50)},
          {"p90", at(90)},
          {"p99", at(99)},
          {"p999", at(99.9)},
          {"max", Us(static_cast<double>(latency.max()))},
          {"mean", Us(latency.mean())}};
}

Json HistogramJson(const Histogram& latency) {
  Json list = Json::array();
  latency.ForEach([&](uint64_t value, uint64_t count) {
    list.push_back({Us(static_cast<double>(value)), count});
  });
  return list;
}

Json FairnessJson(const std::vector<uint64_t>& counts) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  return {{"jain", JainIndex(counts)}, {"min", *least}, {"max", *most}};
}

Json ThreadsJson(const ServerUsage& start, const ServerUsage& end) {
  Json list = Json::array();
  for (const auto& [id, now] : end.threads) {
    const auto before = start.threads.find(id);
    const ThreadUsage from = before == start.threads.end() ? ThreadUsage() : before->second;
    const double user_s = now.user_s - from.user_s;
    const double sys_s = now.sys_s - from.sys_s;
    if (user_s + sys_s <= 0) continue;
    list.push_back({{"id", id}, {"name", now.name}, {"user_s", user_s}, {"sys_s", sys_s}});
  }
  return list;
}

Json ServerJson(const RunFacts& facts) {
  const ServerUsage& start = facts.start.server;
  const ServerUsage& end = facts.end.server;
  const uint64_t requests = facts.result.measured.requests;
  const double user_s = end.user_s - start.user_s;
  const double sys_s = end.sys_s - start.sys_s;
  const double on_cpu_s = end.on_cpu_s - start.on_cpu_s;
  Json json = {{"user_s", user_s},
               {"sys_s", sys_s},
               {"on_cpu_s", on_cpu_s},
               {"per_request_us_user", PerRequestUs(user_s, requests)},
               {"per_request_us_total", PerRequestUs(on_cpu_s, requests)},
               {"read_bytes", end.read_bytes - start.read_bytes},
               {"written_bytes", end.written_bytes - start.written_bytes},
               {"read_calls", end.read_calls - start.read_calls},
               {"write_calls", end.write_calls - start.write_calls},
               {"resident_kb_before", facts.resident_kb_before},
               {"resident_kb_after_idle", facts.resident_kb_after_idle},
               {"resident_kb_end", end.resident_kb},
               {"thread_count", end.thread_count}};
  // Sums over threads are meaningful only when no thread began or ended in between.
  if (!start.threads.empty() && !end.threads.empty()) {
    json["voluntary_switches"] = end.voluntary_switches - start.voluntary_switches;
    json["involuntary_switches"] = end.involuntary_switches - start.involuntary_switches;
    json["threads"] = ThreadsJson(start, end);
  }
  return json;
}

Json ConservationJson(const BeforeImages::Result& images) {
  return {{"collected", images.collected},
          {"distinct", images.distinct},
          {"duplicates", images.collected - images.distinct},
          {"rows", images.rows},
          {"least", images.least},
          {"most", images.most},
          {"without_gaps", images.without_gaps}};
}

Json CountsJson(const Options& options, const RunFacts& facts, double seconds) {
  const Tally& tally = facts.result.measured;
  const Tally& outside = facts.result.outside;
  const auto per_second = [&](uint64_t count) {
    return std::round(static_cast<double>(count) / seconds * 10) / 10;
  };
  Json json = {{"workload", options.workload},
               {"seconds", seconds},
               {"requests", tally.requests},
               {"replies_per_second", per_second(tally.requests)},
               {"rows", tally.rows},
               {"rows_per_second", per_second(tally.rows)},
               {"errors", tally.errors + outside.errors},
               {"mismatches", tally.mismatches + outside.mismatches},
               {"applied", tally.applied},
               {"not_applied", tally.not_applied}};
  json["whole_run"] = {{"requests", tally.requests + outside.requests},
                       {"applied", tally.applied + outside.applied},
                       {"not_applied", tally.not_applied + outside.not_applied},
                       {"unanswered", facts.result.unanswered},
                       {"disconnects", facts.result.disconnects},
                       {"unsent", facts.result.unsent}};
  return json;
}

}  // namespace

OwnUsage ReadOwnUsage() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return {};
  return {Seconds(usage.ru_utime), Seconds(usage.ru_stime)};
}

void MergeInto(RunResult* all, RunResult* one) {
  all->measured.Merge(one->measured);
  all->outside.Merge(one->outside);
  all->before_images.Merge(one->before_images);
  all->replies_per_connection.insert(all->replies_per_connection.end(),
                                     one->replies_per_connection.begin(),
                                     one->replies_per_connection.end());
  all->disconnects += one->disconnects;
  all->unanswered += one->unanswered;
  all->unsent += one->unsent;
}

double JainIndex(const std::vector<uint64_t>& counts) {
  double sum = 0;
  double squares = 0;
  for (const uint64_t count : counts) {
    sum += static_cast<double>(count);
    squares += static_cast<double>(count) * static_cast<double>(count);
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(counts.size()) * squares);
}

bool IsRight(const Options& options, const RunFacts& facts, const BeforeImages::Result& images) {
  const Tally& measured = facts.result.measured;
  const Tally& outside = facts.result.outside;
  if (measured.mismatches + outside.mismatches != 0) return false;
  if (measured.requests + outside.requests == measured.errors + outside.errors) return false;
  return !options.verify_conservation || (images.collected == images.distinct &&
                                          images.collected == measured.applied + outside.applied);
}

void PrintReport(const Options& options, const RunFacts& facts,
                 const BeforeImages::Result& images) {
  const double seconds =
      static_cast<double>(facts.end.monotonic_ns - facts.start.monotonic_ns) / 1e9;
  Json json = CountsJson(options, facts, seconds);
  Tally both = facts.result.measured;
  both.Merge(facts.result.outside);
  json["error_texts"] = both.error_texts;
  json["mismatch_examples"] = both.mismatch_examples;
  json["latency_us"] = LatencyJson(facts.result.measured.latency_ns);
  json["fairness"] = FairnessJson(facts.result.replies_per_connection);
  json["client_cpu"] = {{"user_s", facts.end.own.user_s - facts.start.own.user_s},
                        {"sys_s", facts.end.own.sys_s - facts.start.own.sys_s}};
  json["connect"] = {{"seconds", facts.connect_s},
                     {"per_second", static_cast<double>(options.connections) / facts.connect_s}};
  if (options.idle != 0) {
    json["idle"] = {{"connections", options.idle},
                    {"seconds", facts.idle_connect_s},
                    {"per_second", static_cast<double>(options.idle) / facts.idle_connect_s}};
  }
  if (facts.start.server.known && facts.end.server.known) json["server_cpu"] = ServerJson(facts);
  if (options.verify_conservation) json["conservation"] = ConservationJson(images);
  json["start"] = {{"monotonic_ns", facts.start.monotonic_ns}, {"unix_s", facts.start.unix_s}};
  json["end"] = {{"monotonic_ns", facts.end.monotonic_ns}, {"unix_s", facts.end.unix_s}};
  json["right"] = IsRight(options, facts, images);
  json["options"] = OptionsJson(options);
  json["histogram"] = HistogramJson(facts.result.measured.latency_ns);
  std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

}  // namespace rowsocket::bench
