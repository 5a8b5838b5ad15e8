// The one housekeeper of the plugins that share keyspaces.
//
// Flow: a plugin that has sessions offers these and its settings (Offer), until it stops
// (Withdraw). Each part belongs to a plugin, whose variables and account decide about it; while
// that plugin does not run, another one decides.
// Threads: any; withdrawing_ is taken before mutex_.
// Errors: the log says if there is no thread for a housekeeper that goes on with the sessions of
// another plugin.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "keyspace/housekeeper.h"

namespace rowsocket::keyspace {

class SharedHousekeeper {
 public:
  enum class Part : uint8_t { kContainers, kResp };

  explicit SharedHousekeeper(Keyspaces& keyspaces) : keyspaces_(keyspaces) {}

  /// Starts the housekeeper, if there is none (while another one ends, as soon as it has ended),
  /// and makes it follow this plugin's settings for the part, which belongs to the plugin. False:
  /// the system gives no thread.
  bool Offer(const std::string& plugin, Part part, engine::SessionFactory& sessions,
             HousekeeperSettings settings, std::string* error);
  /// Takes the offer back. When it returns, neither the plugin's sessions nor its settings are in
  /// use: the housekeeper has ended, and another one works for the offers that are left.
  void Withdraw(const std::string& plugin);

 private:
  struct Offered {
    std::string plugin;
    Part part;
    engine::SessionFactory* sessions;
    HousekeeperSettings settings;
  };

  bool StartHousekeeper() REQUIRES(mutex_);
  /// Starts the next housekeeper after a Withdraw. The log says if that fails.
  void StartForOthers() REQUIRES(mutex_);
  HousekeeperRules Rules() const REQUIRES(mutex_);

  Keyspaces& keyspaces_;
  /// Held by one Withdraw at a time, so that each waits until another has ended the housekeeper: in
  /// a Galera cluster, several plugins may end at the same time.
  base::Mutex withdrawing_;
  base::Mutex mutex_;
  std::vector<Offered> offers_ GUARDED_BY(mutex_);  ///< In the order in which they came.
  /// The housekeeper, which uses the sessions of the first offer. Null: there is no offer, or the
  /// former housekeeper has yet to end.
  std::unique_ptr<Housekeeper> housekeeper_ GUARDED_BY(mutex_);
  /// A Withdraw waits for the end of the former housekeeper, and starts the next one, so that two
  /// never work at the same time.
  bool is_ending_ GUARDED_BY(mutex_) = false;
};

}  // namespace rowsocket::keyspace
