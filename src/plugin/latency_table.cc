#include "plugin/latency_table.h"

#include <cstdio>
#include <string>

#include "plugin/schema_table.h"

namespace rowsocket::plugin {

namespace {

SchemaColumn latency_columns[] = {
    TextColumn("PLUGIN", kNameMax),
    TextColumn("MODE", kNameMax),
    TextColumn("VERB", kNameMax),
    TextColumn("PHASE", kNameMax),
    NumberColumn("COUNT", 20),
    FractionColumn("SUM_US"),
    FractionColumn("P50_US"),
    FractionColumn("P90_US"),
    FractionColumn("P99_US"),
    FractionColumn("P999_US"),
    FractionColumn("MAX_US"),
    LongTextColumn("BUCKETS"),
    EndOfColumns(),
};

/// The buckets that have counted something, as JSON: [[end in us, count], ...].
std::string BucketsText(const base::LatencyCounts& counts) {
  std::string text = "[";
  for (size_t i = 0; i < base::kLatencyBuckets; ++i) {
    if (counts.buckets[i] == 0) continue;
    char one[64];
    snprintf(one, sizeof(one), "%s[%.10g,%llu]", text.size() == 1 ? "" : ",",
             base::LatencyBucketEndUs(i), static_cast<unsigned long long>(counts.buckets[i]));
    text += one;
  }
  return text + "]";
}

bool StoreLatency(THD* thd, TABLE* table, const Descriptor& plugin,
                  const exec::LatencyRow& latency) {
  const base::LatencyCounts& counts = latency.counts;
  SchemaRow row(table);
  row.Text(plugin.name);
  row.Text(latency.mode);
  row.Text(plugin.verbs.name(latency.verb));
  row.Text(exec::kPhaseNames[static_cast<size_t>(latency.phase)]);
  row.Number(counts.count());
  row.Fraction(static_cast<double>(counts.sum_ns) / 1000);
  for (const unsigned permille : {500u, 900u, 990u, 999u})
    row.Fraction(counts.QuantileUs(permille));
  row.Fraction(counts.MaxUs());
  row.Text(BucketsText(counts));
  return schema_table_store_record(thd, table);
}

bool StoreLatencies(THD* thd, TABLE* table, Daemon& daemon) {
  for (const exec::LatencyRow& row : daemon.Latency()) {
    if (StoreLatency(thd, table, daemon.descriptor(), row)) return true;
  }
  return false;
}

}  // namespace

PluginDeclaration LatencyTable(Daemon* const* daemons) {
  return SchemaTableOf<latency_columns, StoreLatencies>::Declare(
      daemons, "ROWSOCKET_LATENCY", "How long requests take, by port, verb and phase");
}

}  // namespace rowsocket::plugin
