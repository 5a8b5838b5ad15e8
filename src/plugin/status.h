// The rows that SHOW STATUS gets from one plugin: each session has its own copy, because the server
// reads the values after the function that made them has returned.
//
// Lifetime: until the next Clear. Trivially destructible, because the destructor of a thread's copy
// would run after the library is unloaded.
// Limits: kOwnMax counters of a protocol besides those of exec.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api.h"
#include "base/counter_info.h"
#include "declare.h"
#include "exec/latency.h"
#include "exec/stats.h"

namespace rowsocket::plugin {

class ShownCounters {
 public:
  static constexpr size_t kOwnMax = 64;

  /// Begins an empty list. `plugin`: the plugin's name in the column `plugins` of
  /// spec/counters.tsv.
  void Clear(const char* plugin) {
    plugin_ = plugin;
    count_ = 0;
  }

  /// Adds the counters of exec. Null `stats`: the plugin does not run, and all counters are 0.
  void AddExec(const exec::StatRegistry* stats) { AddAll<exec::Stat>(exec::kStatInfo, stats); }

  /// Adds the quantiles of latencies. Null `latency`: the plugin does not run.
  void AddLatency(const exec::LatencyRegistry* latency) {
    const base::LatencyCounts whole = latency != nullptr ? latency->Whole() : base::LatencyCounts();
    for (const base::QuantileInfo& one : exec::kQuantileInfo) {
      if (!base::IsShownBy(one.plugins, plugin_)) continue;
      Add(one.name, static_cast<uint64_t>(whole.QuantileUs(one.permille) + 0.5));
    }
  }

  /// Adds when the server's certificate ends. `ends`: as UNIX time; 0: the server has none.
  void AddCertificateEnds(int64_t ends) {
    Add("tls_certificate_ends", static_cast<uint64_t>(ends));
  }

  template <typename Counters, size_t kInfos>
  void AddOwn(const base::CounterInfo (&infos)[kInfos], const Counters* counters) {
    static_assert(kInfos <= kOwnMax, "raise kOwnMax");
    AddAll<typename Counters::Counter>(infos, counters);
  }

  void ShowIn(StatusVariable* var) {
    variables_[count_] = EndOfStatus();
    ShowAll(var, variables_.data());
  }

 private:
  static constexpr size_t kOfPluginMax = 1;  ///< Counters of the layer `plugin`.
  static constexpr size_t kMax = static_cast<size_t>(exec::Stat::kCount) +
                                 std::size(exec::kQuantileInfo) + kOwnMax + kOfPluginMax;

  template <typename E, typename Counters, size_t kInfos>
  void AddAll(const base::CounterInfo (&infos)[kInfos], const Counters* counters) {
    for (size_t i = 0; i < kInfos; ++i) {
      if (!base::IsShownBy(infos[i].plugins, plugin_)) continue;
      Add(infos[i].name, counters == nullptr ? 0 : counters->Sum(static_cast<E>(i)));
    }
  }

  void Add(const char* name, uint64_t value) {
    values_[count_] = value;
    variables_[count_] = StatusOf(name, &values_[count_]);
    ++count_;
  }

  std::string_view plugin_;
  size_t count_ = 0;
  std::array<StatusVariable, kMax + 1> variables_{};
  std::array<ulonglong, kMax> values_{};
};

}  // namespace rowsocket::plugin
