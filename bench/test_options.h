// Options of a run as the tests of the workloads need them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "bench/options.h"

namespace rowsocket::bench {

inline Options MakeOptions(const std::string& workload,
                           const std::function<void(Options*)>& change = {}) {
  Options options;
  options.workload = workload;
  options.port = 1;
  options.rows = 50;
  options.columns_text = "name,mail";
  options.values_text = "user {n},u{n}@x";
  options.update_columns_text = "note";
  options.set_text = "s{v}";
  if (change) change(&options);
  std::string error;
  EXPECT_TRUE(Complete(&options, &error)) << error;
  return options;
}

}  // namespace rowsocket::bench
