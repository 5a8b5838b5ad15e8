// The keyspaces that the plugins of this library share, and their one housekeeper.
//
// Flow: a protocol that serves keyspaces enters, and offers to keep house once it has sessions.
// For each part the plugin that it belongs to decides, by its own variables and account; where that
// plugin does not run, another one does.
// Threads: any; one lock. Lifetime: as long as a protocol holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "keyspace/housekeeper.h"

namespace rowsocket::plugin {

class KeyspaceHouse {
 public:
  enum class Part : uint8_t { kContainers, kResp };

  /// The house of the protocols that run, or a new one.
  static std::shared_ptr<KeyspaceHouse> Enter();
  KeyspaceHouse();
  ~KeyspaceHouse();

  const std::shared_ptr<keyspace::Keyspaces>& keyspaces() const { return keyspaces_; }

  /// Keeps house for a plugin, to which the part belongs. False: no thread can be had.
  bool Keep(const std::string& plugin, Part part, engine::SessionFactory& sessions,
            keyspace::HousekeeperSettings settings, std::string* error);
  /// Returns when nothing is done by the plugin's sessions any more.
  void Leave(const std::string& plugin);

 private:
  struct Keeper {
    std::string plugin;
    Part part;
    engine::SessionFactory* sessions;
    keyspace::HousekeeperSettings settings;
  };

  bool Start() REQUIRES(mutex_);
  keyspace::HousekeeperRules Rules() const REQUIRES(mutex_);

  const std::shared_ptr<keyspace::Keyspaces> keyspaces_;
  base::Mutex mutex_;
  std::vector<Keeper> keepers_ GUARDED_BY(mutex_);  ///< In the order in which they came.
  /// With sessions of the first one; null: nobody keeps house.
  std::unique_ptr<keyspace::Housekeeper> housekeeper_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::plugin
