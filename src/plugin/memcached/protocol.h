// The port of the memcached protocol.
//
// Errors: texts, which name the variable to change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/memcached/frontend.h"
#include "plugin/keyspace_house.h"
#include "plugin/protocol.h"
#include "plugin/tls.h"

namespace rowsocket::plugin {

/// The values of the system variables; null strings are empty.
struct MemcachedVariables {
  std::string option, address, port, socket, user;
  unsigned threads = 2;
  unsigned lock_wait_threads = 64;
  unsigned wrlock_timeout_s = 12;
  unsigned purge_rows_per_second = 1000;
  bool accounts = false;
  bool accounts_insecure = false;
  unsigned auth_threads = 4;
  bool may_flush = false;
  bool has_socket_mode = false;  ///< The mode of the socket file was given with -a.
  const exec::AccountLimitSettings* account_limits = nullptr;
  TlsVariables tls;
  net::ListenOptions listen;
  model::Limits limits;
};

class MemcachedProtocol final : public Protocol {
 public:
  explicit MemcachedProtocol(MemcachedVariables variables);

  bool Configure(const Counted& counted, DaemonSettings* settings, std::string* error) override;
  bool StartHousekeeper(engine::SessionFactory& sessions, std::string* error) override;
  void StopHousekeeper() override;

  /// REQUIRES: Configure has succeeded.
  const frontend::MemcachedCounters& counters() const {
    shared_->ReadLatencies();
    return shared_->counters;
  }

 private:
  bool ApplyOptions(std::string* error);
  exec::ServiceSettings MakeService(const std::vector<net::Address>& addresses);
  void WarnAboutAddresses(const std::vector<net::Address>& addresses) const;
  void MakeShared(const std::vector<net::Address>& addresses,
                  std::shared_ptr<const model::Account> account, const Counted& counted);

  MemcachedVariables variables_;
  const std::shared_ptr<KeyspaceHouse> house_ = KeyspaceHouse::Enter();
  std::unique_ptr<frontend::MemcachedShared> shared_;
};

}  // namespace rowsocket::plugin
