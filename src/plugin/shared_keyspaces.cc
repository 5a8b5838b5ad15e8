#include "plugin/shared_keyspaces.h"

#include <algorithm>
#include <utility>

#include "api.h"
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

std::string_view WhyNoHousekeeping() {
  const std::string_view why = engine::server::WhyAnotherNodeKeepsHouse();
  if (!why.empty()) return why;
  if (KeepsHouseOnReplica() || !engine::server::HasReplicationSource()) return {};
  return "this server has a replication source (daemon_memcached_housekeeping_on_replica)";
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
          keyspace::Settings{LogWarning, UtcOffsetSeconds, WhyNoHousekeeping})) {
  keyspaces_->SetClockOffset(MemcachedClockOffsetMs());
}

SharedKeyspaces::~SharedKeyspaces() = default;

bool SharedKeyspaces::Offer(const std::string& plugin, Part part, engine::SessionFactory& sessions,
                            keyspace::HousekeeperSettings settings, std::string* error) {
  const base::MutexLock lock(mutex_);
  offers_.push_back({plugin, part, &sessions, std::move(settings)});
  if (housekeeper_ != nullptr) {
    housekeeper_->Follow(Rules());
    return true;
  }
  if (StartHousekeeper()) return true;
  offers_.pop_back();
  *error = "no thread can be had for the housekeeping of " + plugin;
  return false;
}

// Waits for the end of the thread without the lock: in a Galera cluster its commit may be ordered
// after the start of another plugin, which takes the lock.
void SharedKeyspaces::Withdraw(const std::string& plugin) {
  const base::MutexLock one_at_a_time(withdrawing_);
  std::unique_ptr<keyspace::Housekeeper> leaving;
  {
    const base::MutexLock lock(mutex_);
    const auto offer = std::find_if(offers_.begin(), offers_.end(),
                                    [&](const Offered& one) { return one.plugin == plugin; });
    if (offer == offers_.end()) return;
    leaving = std::move(housekeeper_);
    offers_.erase(offer);
  }
  leaving.reset();
  const base::MutexLock lock(mutex_);
  if (!StartHousekeeper())
    LogWarning("no thread can be had for the housekeeping of " + offers_.front().plugin);
}

keyspace::HousekeeperRules SharedKeyspaces::Rules() const {
  keyspace::HousekeeperRules rules{offers_.front().settings, offers_.front().settings};
  for (const Offered& offer : offers_) {
    (offer.part == Part::kContainers ? rules.containers : rules.resp) = offer.settings;
  }
  return rules;
}

bool SharedKeyspaces::StartHousekeeper() {
  if (housekeeper_ != nullptr || offers_.empty()) return true;
  auto starting =
      std::make_unique<keyspace::Housekeeper>(*keyspaces_, *offers_.front().sessions, Rules());
  if (!starting->Start()) return false;
  housekeeper_ = std::move(starting);
  return true;
}

}  // namespace rowsocket::plugin
