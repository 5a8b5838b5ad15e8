#include "plugin/resp/protocol.h"

#include <utility>

#include "api.h"
#include "engine/server/replication.h"
#include "exec/token_book.h"
#include "model/version.h"
#include "plugin/addresses.h"
#include "plugin/make_port.h"
#include "plugin/port_account.h"

namespace rowsocket::plugin {

bool RespProtocol::Configure(const Counted& counted, DaemonSettings* settings, std::string* error) {
  settings->sessions = engine::server::SessionSettings{variables_.wrlock_timeout_s, {"resp"}};
  std::vector<net::Address> addresses;
  const PortVariables port_variables{variables_.address,
                                     variables_.port,
                                     variables_.socket,
                                     {"resp_address", "resp_port", "resp_socket"}};
  if (!FindAddresses(port_variables, &addresses, error)) return false;
  if (addresses.empty()) return true;  // As installed: neither port nor socket is set.
  TakeCommonSettings(variables_, variables_.accounts, settings);
  exec::PortSettings port = MakePort(variables_, "resp", variables_.accounts);
  port.addresses = addresses;
  port.prepare = [this](engine::Session& session, bool) {
    shared_keyspaces_->keyspaces()->catalog.Refresh(session);
  };
  if (!TakeAccount(variables_.user, "resp_user", &port, &shared_.account, error)) return false;
  if (!MakeTls(variables_.tls, "resp", "", &port.handshakes.tls, error)) return false;
  shared_keyspaces_ = SharedKeyspaces::Get();
  shared_keyspaces_->keyspaces()->catalog.FollowStore();
  shared_.keyspaces = shared_keyspaces_->keyspaces().get();
  shared_.accounts = variables_.accounts;
  shared_.tokens.ttl_s = variables_.token_ttl_s;
  exec::TokenBook::KeepFor(variables_.token_ttl_s);
  shared_.schema = variables_.schema;
  shared_.version = model::kVersion;
  shared_.health = engine::server::ReadHealth;
  shared_.stats = &counted.stats;
  shared_.latency = &counted.latency;
  shared_.slow = &counted.slow;
  shared_.hot_rows = &counted.hot_rows;
  shared_.info = &info_;
  shared_.clients = &clients_;
  shared_.cursors = &cursors_;
  shared_.scripts = &scripts_;
  shared_.limits = variables_.limits;
  settings->ports.push_back({std::move(port),
                             [this] { return std::make_unique<frontend::RespFrontend>(shared_); },
                             /*note=*/""});
  WarnAboutOpenAddresses(addresses, variables_, "resp", "has all rights on all tables");
  return true;
}

bool RespProtocol::StartHousekeeper(engine::SessionFactory& sessions, std::string* error) {
  if (shared_keyspaces_ == nullptr) return true;
  keyspace::HousekeeperSettings settings;
  settings.account = shared_.account;
  settings.account_variable = "resp_user";
  settings.rows_per_second = model::kPurgeRowsPerSecond;
  return shared_keyspaces_->housekeeper().Offer("resp", keyspace::SharedHousekeeper::Part::kResp,
                                                sessions, std::move(settings), error);
}

void RespProtocol::StopHousekeeper() {
  if (shared_keyspaces_ != nullptr) shared_keyspaces_->housekeeper().Withdraw("resp");
}

}  // namespace rowsocket::plugin
