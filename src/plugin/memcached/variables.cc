#include "plugin/memcached/variables.h"

#include <atomic>
#include <memory>
#include <string>

#include "plugin/audit_variable.h"
#include "plugin/common_variables.h"
#include "plugin/host.h"
#include "plugin/memcached/options.h"
#include "plugin/memcached/protocol.h"

namespace rowsocket::plugin {

namespace {

constexpr const char* kName = "daemon_memcached";
/// The value of clock_offset in milliseconds, for the threads that ask for the time.
std::atomic<int64_t> clock_offset_ms{0};

void SetClock(MYSQL_THD, SystemVariable*, void* target, const void* save) {
  const auto offset_s = *static_cast<const longlong*>(save);
  *static_cast<longlong*>(target) = offset_s;
  clock_offset_ms.store(offset_s * 1000);
}
constexpr auto kSetClockOffset = SetClock;

ROWSOCKET_COMMON_SETTERS("daemon_memcached")

#include "plugin/memcached/variables.inc"

static_assert(MemcachedOptions::kThreadsMax == Values::threads_max);
static_assert(MemcachedOptions::kConnectionsMax == Values::connections_max_max);
static_assert(MemcachedOptions::kItemBytesMin == Values::item_size_max_min);
static_assert(MemcachedOptions::kItemBytesMax == Values::item_size_max_max);

/// Makes SHOW VARIABLES show the numbers of daemon_memcached_option, which are in use: operators
/// compare the number of connections with the variable. The protocol reports what is wrong with the
/// option.
void ShowOptions() {
  MemcachedOptions options;
  std::string error;
  if (!ParseMemcachedOptions(Text(values.option), &options, &error)) return;
  if (options.threads && *options.threads <= MemcachedOptions::kThreadsMax)
    values.threads = *options.threads;
  if (options.connections && *options.connections <= MemcachedOptions::kConnectionsMax)
    values.connections_max = *options.connections;
}

MemcachedVariables TakeVariables() {
  clock_offset_ms.store(values.clock_offset * 1000);
  MemcachedVariables variables;
  TakeCommon<"daemon_memcached">(&values, ReadersForThisMachine(), &variables);
  ShowOptions();
  variables.option = Text(values.option);
  variables.purge_rows_per_second = values.purge_rows_per_second;
  variables.may_flush = values.flush_all;
  variables.listen.send_buffer_bytes = static_cast<int>(values.sndbuf);
  variables.listen.receive_buffer_bytes = static_cast<int>(values.rcvbuf);
  variables.limits.item_bytes_max = values.item_size_max;
  return variables;
}

std::unique_ptr<Protocol> Make() { return std::make_unique<MemcachedProtocol>(TakeVariables()); }

void ShowOwn(const Protocol* protocol, ShownCounters* shown) {
  const auto* memcached = static_cast<const MemcachedProtocol*>(protocol);
  shown->AddOwn(frontend::kMemcachedStatInfo,
                memcached != nullptr ? &memcached->counters() : nullptr);
}

}  // namespace

bool IsHousekeeperOnReplica() { return values.housekeeping_on_replica; }

const std::atomic<int64_t>* MemcachedClockOffsetMs() { return &clock_offset_ms; }

constinit const Descriptor kMemcached = {
    kName,
    "Daemon_memcached",
    "Daemon_memcached_latency_since",
    "Rows over the memcached protocol, straight from the storage engine",
    sys_vars,
    Make,
    ShowOwn,
    {memcached::kVerbs, [](uint32_t verb) { return memcached::kVerbNames[verb]; }},
    [] { return static_cast<bool>(values.slow_log_values); },
    [] { return static_cast<bool>(values.audit); },
};

}  // namespace rowsocket::plugin
