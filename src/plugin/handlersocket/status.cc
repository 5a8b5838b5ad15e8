#include "plugin/handlersocket/status.h"

#include <array>
#include <mutex>
#include <string>

#include "exec/stats.h"
#include "plugin/handlersocket/runtime.h"
#include "plugin/shown_counters.h"

namespace rowsocket::plugin {

namespace {

using exec::Stat;

constexpr const char* kNames[] = {"connections",
                                  "connections_accepted",
                                  "connections_refused",
                                  "connections_timed_out",
                                  "connections_lost",
                                  "connections_moved",
                                  "bytes_received",
                                  "bytes_sent",
                                  "opens",
                                  "auths",
                                  "finds",
                                  "inserts",
                                  "updates",
                                  "deletes",
                                  "increments",
                                  "rows_read",
                                  "rows_written",
                                  "turns",
                                  "batches",
                                  "batch_requests",
                                  "commits",
                                  "commit_failures",
                                  "batch_retries",
                                  "lock_waits",
                                  "merged_rows",
                                  "merged_requests",
                                  "unmerged_request",
                                  "unmerged_engine",
                                  "unmerged_table",
                                  "unmerged_trigger",
                                  "unmerged_versioned",
                                  "unmerged_unique_key",
                                  "unmerged_foreign_key",
                                  "unmerged_generated",
                                  "unmerged_check",
                                  "unmerged_token",
                                  "unmerged_rerun"};
constexpr size_t kNamed = std::size(kNames);
static_assert(kNamed == static_cast<size_t>(Stat::kErrorsFirst), "one name a counter");
constexpr size_t kErrors = model::kErrorCodes - 1;  // kNone is no error.

std::mutex source_mutex;
const Runtime* source = nullptr;

thread_local ShownCounters<kNamed + kErrors> shown;

const char* ErrorName(size_t error) {
  static const auto names = [] {
    std::array<std::string, kErrors> made;
    for (size_t i = 0; i < kErrors; ++i) {
      made[i] = "errors_" + std::string(model::Name(static_cast<model::ErrorCode>(i + 1)));
    }
    return made;
  }();
  return names[error].c_str();
}

int Show(MYSQL_THD, st_mysql_show_var* var, void*, system_status_var*, enum_var_type) {
  std::lock_guard lock(source_mutex);
  const auto value_of = [](Stat stat) { return source != nullptr ? source->stats().Sum(stat) : 0; };
  shown.Clear();
  for (size_t i = 0; i < kNamed; ++i) shown.Add(kNames[i], value_of(static_cast<Stat>(i)));
  for (size_t error = 0; error < kErrors; ++error) {
    shown.Add(ErrorName(error),
              value_of(exec::ErrorStat(static_cast<model::ErrorCode>(error + 1))));
  }
  shown.ShowIn(var);
  return 0;
}

}  // namespace

const char* CounterName(Stat stat) { return kNames[static_cast<size_t>(stat)]; }

void SetStatusSource(const Runtime* runtime) {
  std::lock_guard lock(source_mutex);
  source = runtime;
}

st_mysql_show_var kStatusVariables[] = {
    {"Handlersocket", reinterpret_cast<void*>(&Show), SHOW_FUNC},
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace rowsocket::plugin
