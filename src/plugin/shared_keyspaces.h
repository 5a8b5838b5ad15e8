// The keyspaces that the plugins of this library share, and their one housekeeper.
//
// Flow: a protocol that serves keyspaces takes them (Get). Once it has sessions it offers these and
// its settings to the housekeeper (Offer), until it stops (Withdraw). For each part the plugin that
// the part belongs to decides, by its own variables and account; where that plugin does not run,
// another one does.
// Threads: any; withdrawing_ is taken before mutex_. Lifetime: as long as a protocol holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "keyspace/housekeeper.h"

namespace rowsocket::plugin {

class SharedKeyspaces {
 public:
  enum class Part : uint8_t { kContainers, kResp };

  /// The keyspaces that the running protocols share; new ones where no protocol runs.
  static std::shared_ptr<SharedKeyspaces> Get();
  SharedKeyspaces();
  ~SharedKeyspaces();

  const std::shared_ptr<keyspace::Keyspaces>& keyspaces() const { return keyspaces_; }

  /// From now on there is a housekeeper, and it goes by the settings of this plugin for the part,
  /// which belongs to the plugin. False: no thread can be had.
  bool Offer(const std::string& plugin, Part part, engine::SessionFactory& sessions,
             keyspace::HousekeeperSettings settings, std::string* error);
  /// Returns when nothing is done by the plugin's sessions any more.
  void Withdraw(const std::string& plugin);

 private:
  struct Offered {
    std::string plugin;
    Part part;
    engine::SessionFactory* sessions;
    keyspace::HousekeeperSettings settings;
  };

  bool StartHousekeeper() REQUIRES(mutex_);
  keyspace::HousekeeperRules Rules() const REQUIRES(mutex_);

  const std::shared_ptr<keyspace::Keyspaces> keyspaces_;
  /// Held by one Withdraw at a time: each waits for the housekeeper that another ends. In the order
  /// of a Galera cluster plugins end side by side.
  base::Mutex withdrawing_;
  base::Mutex mutex_;
  std::vector<Offered> offers_ GUARDED_BY(mutex_);  ///< In the order in which they came.
  /// Works with the sessions of the first offer. Null: there is no offer.
  std::unique_ptr<keyspace::Housekeeper> housekeeper_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::plugin
