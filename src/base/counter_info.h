// What is known of a counter beside its value: generated for each layer from spec/counters.tsv, so
// that a counter and its names are one row of that table.
#pragma once

#include <cstdint>
#include <string_view>

namespace rowsocket::base {

enum class CounterType : uint8_t { kCounter, kGauge };

struct CounterInfo {
  const char* name;  ///< In SHOW STATUS, behind the plugin's name and _.
  CounterType type;
  std::string_view plugins;  ///< That show it, separated by commas.
  std::string_view stats;    ///< Its name in the reply to memcached's `stats`; empty: not in it.
};

/// One counter divided by another.
template <typename E>
struct AverageInfo {
  const char* name;
  E sum;
  E count;
  std::string_view plugins;
  std::string_view stats;
};

/// Whether `plugin` is one of `plugins`, which commas separate.
constexpr bool IsShownBy(std::string_view plugins, std::string_view plugin) {
  while (!plugins.empty()) {
    const std::string_view one = plugins.substr(0, plugins.find(','));
    if (one == plugin) return true;
    plugins.remove_prefix(one.size() < plugins.size() ? one.size() + 1 : one.size());
  }
  return false;
}

/// 0 where nothing was counted.
constexpr uint64_t Average(uint64_t sum, uint64_t count) { return count == 0 ? 0 : sum / count; }

}  // namespace rowsocket::base
