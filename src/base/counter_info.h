// The names, types and plugins of counters: generated for each layer from spec/counters.tsv, so
// that a counter and its names are one row of that table.
#pragma once

#include <cstdint>
#include <string_view>

namespace rowsocket::base {

enum class CounterType : uint8_t { kCounter, kGauge };

struct CounterInfo {
  const char* name;  ///< The name in SHOW STATUS, after the plugin's name and _.
  CounterType type;
  std::string_view plugins;  ///< The plugins that show the counter, separated by commas.
  std::string_view stats;    ///< The name in the reply to memcached's `stats`; empty: not in it.
};

/// A quantile of latencies that is shown, in microseconds.
struct QuantileInfo {
  const char* name;
  unsigned permille;
  std::string_view plugins;
};

/// Whether `plugin` is in `plugins`, a list with commas.
constexpr bool IsShownBy(std::string_view plugins, std::string_view plugin) {
  while (!plugins.empty()) {
    const std::string_view one = plugins.substr(0, plugins.find(','));
    if (one == plugin) return true;
    plugins.remove_prefix(one.size() < plugins.size() ? one.size() + 1 : one.size());
  }
  return false;
}

}  // namespace rowsocket::base
