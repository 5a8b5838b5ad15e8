// The port of the memcached protocol.
//
// Errors: texts, which name the variable to change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/memcached/frontend.h"
#include "plugin/common_variables.h"
#include "plugin/protocol.h"
#include "plugin/shared_keyspaces.h"

namespace rowsocket::plugin {

struct MemcachedVariables : CommonVariables {
  std::string option;
  unsigned purge_rows_per_second = 0;
  bool may_flush = false;
  bool has_socket_mode = false;  ///< The mode of the socket file was given with -a.
};

class MemcachedProtocol final : public Protocol {
 public:
  explicit MemcachedProtocol(MemcachedVariables variables);

  bool Configure(const Counted& counted, DaemonSettings* settings, std::string* error) override;
  bool StartHousekeeper(engine::SessionFactory& sessions, std::string* error) override;
  void StopHousekeeper() override;

  /// The counters of the port. REQUIRES: Configure has succeeded.
  const frontend::MemcachedCounters& counters() const {
    shared_->ReadLatencies();
    return shared_->counters;
  }

 private:
  bool ApplyOptions(std::string* error);
  exec::PortSettings MakeMemcachedPort(const std::vector<net::Address>& addresses);
  void MakeShared(const std::vector<net::Address>& addresses,
                  std::shared_ptr<const model::Account> account, const Counted& counted);

  MemcachedVariables variables_;
  const std::shared_ptr<SharedKeyspaces> shared_keyspaces_ = SharedKeyspaces::Get();
  std::unique_ptr<frontend::MemcachedShared> shared_;
};

}  // namespace rowsocket::plugin
