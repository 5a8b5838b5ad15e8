// The keyspaces that the plugins of this library share, and their one housekeeper.
//
// Flow: a protocol that serves keyspaces takes them (Get). Once it has sessions it offers these and
// its settings to the housekeeper (Offer), until it stops (Withdraw). Each part belongs to a
// plugin, whose variables and account decide about it; while that plugin does not run, another one
// decides.
// Threads: any; withdrawing_ is taken before mutex_.
// Lifetime: as long as a protocol holds it.
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

  /// The keyspaces that the running protocols share; makes new ones if no protocol runs.
  static std::shared_ptr<SharedKeyspaces> Get();
  SharedKeyspaces();
  ~SharedKeyspaces();

  const std::shared_ptr<keyspace::Keyspaces>& keyspaces() const { return keyspaces_; }

  /// Starts the housekeeper, if there is none, and makes it follow this plugin's settings for the
  /// part, which belongs to the plugin. False: the system gives no thread.
  bool Offer(const std::string& plugin, Part part, engine::SessionFactory& sessions,
             keyspace::HousekeeperSettings settings, std::string* error);
  /// Takes the offer back, and returns when the plugin's sessions are no longer in use.
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
  /// Held by one Withdraw at a time, so that each waits until another has ended the housekeeper: in
  /// a Galera cluster, several plugins may end at the same time.
  base::Mutex withdrawing_;
  base::Mutex mutex_;
  std::vector<Offered> offers_ GUARDED_BY(mutex_);  ///< In the order in which they came.
  /// The housekeeper, which uses the sessions of the first offer. Null: there is no offer.
  std::unique_ptr<keyspace::Housekeeper> housekeeper_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::plugin
