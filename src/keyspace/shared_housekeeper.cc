#include "keyspace/shared_housekeeper.h"

#include <algorithm>
#include <new>
#include <utility>

namespace rowsocket::keyspace {

bool SharedHousekeeper::Offer(const std::string& plugin, Part part,
                              engine::SessionFactory& sessions, HousekeeperSettings settings,
                              std::string* error) {
  const base::MutexLock lock(mutex_);
  offers_.push_back({plugin, part, &sessions, std::move(settings)});
  if (is_ending_) return true;  // Withdraw starts the next housekeeper.
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
void SharedHousekeeper::Withdraw(const std::string& plugin) {
  const base::MutexLock one_at_a_time(withdrawing_);
  std::unique_ptr<Housekeeper> leaving;
  {
    const base::MutexLock lock(mutex_);
    const auto offer = std::find_if(offers_.begin(), offers_.end(),
                                    [&](const Offered& one) { return one.plugin == plugin; });
    if (offer == offers_.end()) return;
    leaving = std::move(housekeeper_);
    is_ending_ = true;
    offers_.erase(offer);
  }
  leaving.reset();
  const base::MutexLock lock(mutex_);
  is_ending_ = false;
  StartForOthers();
}

// A plugin that ends must not fail for lack of memory.
void SharedHousekeeper::StartForOthers() {
  bool is_started = false;
  try {
    is_started = StartHousekeeper();
  } catch (const std::bad_alloc&) {  // As if there were no thread.
  }
  if (is_started) return;
  try {
    keyspaces_.log("no thread can be had for the housekeeping of " + offers_.front().plugin);
  } catch (const std::bad_alloc&) {  // The line is left out.
  }
}

HousekeeperRules SharedHousekeeper::Rules() const {
  HousekeeperRules rules{offers_.front().settings, offers_.front().settings};
  for (const Offered& offer : offers_) {
    (offer.part == Part::kContainers ? rules.containers : rules.resp) = offer.settings;
  }
  return rules;
}

bool SharedHousekeeper::StartHousekeeper() {
  if (housekeeper_ != nullptr || offers_.empty()) return true;
  auto starting = std::make_unique<Housekeeper>(keyspaces_, *offers_.front().sessions, Rules());
  if (!starting->Start()) return false;
  housekeeper_ = std::move(starting);
  return true;
}

}  // namespace rowsocket::keyspace
