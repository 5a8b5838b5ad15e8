// The keyspaces that the plugins of this library share, and their one housekeeper.
//
// Flow: a protocol that serves keyspaces enters, and offers to keep house once it has sessions.
// The plugin that came first keeps house, by its own variables and account; when it leaves, the
// next one goes on.
// Threads: any; one lock. Lifetime: as long as a protocol holds it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "keyspace/housekeeper.h"

namespace rowsocket::plugin {

class KeyspaceHouse {
 public:
  /// The house of the protocols that run, or a new one.
  static std::shared_ptr<KeyspaceHouse> Enter();
  KeyspaceHouse();
  ~KeyspaceHouse();

  const std::shared_ptr<keyspace::Keyspaces>& keyspaces() const { return keyspaces_; }

  /// Keeps house for a plugin, or will once those before it have left. False: no thread can be had.
  bool Keep(const std::string& plugin, engine::SessionFactory& sessions,
            keyspace::HousekeeperSettings settings, std::string* error);
  /// Returns when nothing is done by the plugin's sessions any more.
  void Leave(const std::string& plugin);

 private:
  struct Keeper {
    std::string plugin;
    engine::SessionFactory* sessions;
    keyspace::HousekeeperSettings settings;
  };

  bool Start() REQUIRES(mutex_);

  const std::shared_ptr<keyspace::Keyspaces> keyspaces_;
  base::Mutex mutex_;
  std::vector<Keeper> keepers_ GUARDED_BY(mutex_);  ///< In the order in which they came.
  /// The first one's; null: nobody keeps house.
  std::unique_ptr<keyspace::Housekeeper> housekeeper_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::plugin
