// The composition root of the memcached protocol: from the values of the system variables to a
// running service and its housekeeper.
//
// Threads: Start and Stop from the server's plugin code, one after the other.
// Errors: texts for the server's log, which name the variable to change.
#pragma once

#include <memory>
#include <string>

#include "engine/server/session.h"
#include "exec/service.h"
#include "frontend/memcached/frontend.h"
#include "frontend/memcached/housekeeper.h"

namespace rowsocket::plugin {

/// The values of the system variables; null strings are empty.
struct MemcachedVariables {
  std::string option, address, port, socket;
  unsigned threads = 2;
  unsigned lock_wait_threads = 64;
  unsigned wrlock_timeout_s = 12;
  unsigned purge_rows_per_second = 1000;
  bool may_flush = false;
  /// daemon_memcached_housekeeping_on_replica, which may be set at any time.
  const my_bool* keeps_house_on_replica = nullptr;
  net::ListenOptions listen;
  model::Limits limits;
};

class MemcachedRuntime {
 public:
  MemcachedRuntime() = default;
  ~MemcachedRuntime() { Stop(); }

  bool Start(MemcachedVariables variables, std::string* error);
  void Stop();

  const exec::StatRegistry& stats() const { return stats_; }
  frontend::MemcachedShared& shared() { return *shared_; }
  const frontend::MemcachedShared& shared() const { return *shared_; }

 private:
  bool ApplyOptions(MemcachedVariables* variables, std::string* error);
  bool FindAddresses(const MemcachedVariables& variables, std::vector<net::Address>* addresses,
                     std::string* error);
  void MakeShared(const MemcachedVariables& variables, const std::vector<net::Address>& addresses);

  exec::StatRegistry stats_;
  std::unique_ptr<engine::server::ServerSessionFactory> sessions_;
  std::unique_ptr<exec::WaitLane> lane_;
  std::unique_ptr<frontend::MemcachedShared> shared_;
  std::unique_ptr<frontend::MemcachedHousekeeper> housekeeper_;
  std::unique_ptr<exec::Service> service_;
};

}  // namespace rowsocket::plugin
