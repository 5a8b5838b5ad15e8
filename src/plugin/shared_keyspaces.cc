#include "plugin/shared_keyspaces.h"

#include "api.h"
#include "base/mutex.h"
#include "engine/server/cluster_node.h"
#include "engine/server/replication.h"
#include "plugin/host.h"
#include "plugin/memcached/variables.h"

namespace rowsocket::plugin {

namespace {

/// By how much the server's time of day is ahead of UTC.
int64_t UtcOffsetSeconds(int64_t unix_s) {
  MYSQL_TIME local;
  global_system_variables.time_zone->gmt_sec_to_TIME(&local, static_cast<my_time_t>(unix_s));
  const int64_t days = calc_daynr(local.year, local.month, local.day) - calc_daynr(1970, 1, 1);
  const int64_t local_s = days * 86'400 + local.hour * 3600 + local.minute * 60 + local.second;
  return local_s - unix_s;
}

engine::NoHousekeeping WhyNoHousekeeping() {
  const engine::NoHousekeeping in_cluster = engine::server::WhyNoHousekeepingInCluster();
  if (!in_cluster.why.empty()) return in_cluster;
  if (IsHousekeeperOnReplica() || !engine::server::HasReplicationSource()) return {};
  return {"this server has a replication source (daemon_memcached_housekeeping_on_replica)"};
}

}  // namespace

std::shared_ptr<SharedKeyspaces> SharedKeyspaces::Get() {
  static base::Mutex mutex;
  static std::weak_ptr<SharedKeyspaces> current;
  const base::MutexLock lock(mutex);
  std::shared_ptr<SharedKeyspaces> shared = current.lock();
  if (shared == nullptr) current = shared = std::make_shared<SharedKeyspaces>();
  return shared;
}

SharedKeyspaces::SharedKeyspaces()
    : keyspaces_(std::make_shared<keyspace::Keyspaces>(
          keyspace::KeyspacesSettings{LogPrintableWarning, UtcOffsetSeconds, WhyNoHousekeeping})),
      housekeeper_(*keyspaces_) {
  keyspaces_->SetClockOffset(MemcachedClockOffsetMs());
}

}  // namespace rowsocket::plugin
