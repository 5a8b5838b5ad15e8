// The keyspaces that the plugins of this library share, and their one housekeeper.
//
// Flow: a protocol that serves keyspaces takes them (Get). Once it has sessions it offers these to
// the housekeeper (keyspace/shared_housekeeper.h).
// Threads: any.
// Lifetime: as long as a protocol holds it.
#pragma once

#include <memory>

#include "keyspace/shared_housekeeper.h"

namespace rowsocket::plugin {

class SharedKeyspaces {
 public:
  /// The keyspaces that the running protocols share; makes new ones if no protocol runs.
  static std::shared_ptr<SharedKeyspaces> Get();
  SharedKeyspaces();

  const std::shared_ptr<keyspace::Keyspaces>& keyspaces() const { return keyspaces_; }
  keyspace::SharedHousekeeper& housekeeper() { return housekeeper_; }

 private:
  const std::shared_ptr<keyspace::Keyspaces> keyspaces_;
  keyspace::SharedHousekeeper housekeeper_;
};

}  // namespace rowsocket::plugin
