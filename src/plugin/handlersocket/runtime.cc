#include "plugin/handlersocket/runtime.h"

#include "api.h"
#include "plugin/daemon.h"

namespace rowsocket::plugin {

Runtime::Runtime() = default;

bool Runtime::Start(const Settings& settings, std::string* error) {
  sessions_ = std::make_unique<engine::server::ServerSessionFactory>(
      engine::server::SessionSettings{settings.wrlock_timeout_s}, Shared().indexes);
  lane_ = std::make_unique<exec::WaitLane>(*sessions_, stats_, Shared().commits,
                                           settings.lock_wait_threads);
  const Port ports[] = {
      {"mode=rd", "handlersocket_port", "handlersocket_socket", "handlersocket_plain_secret",
       "handlersocket_threads", settings.port, settings.socket, settings.secret, settings.threads,
       false},
      {"mode=wr", "handlersocket_port_wr", "handlersocket_socket_wr",
       "handlersocket_plain_secret_wr", "handlersocket_threads_wr", settings.port_wr,
       settings.socket_wr, settings.secret_wr, settings.threads_wr, true},
  };
  for (const Port& port : ports) {
    if (!StartPort(port, settings, error)) {
      Stop();
      return false;
    }
  }
  WarnAboutOpenFiles(settings);
  return true;
}

bool Runtime::FindAddresses(const Port& port, const Settings& settings,
                            std::vector<net::Address>* addresses, std::string* error) {
  const net::VariableNames names{"handlersocket_address", port.port_variable};
  if (!port.port.empty() && port.port != "0") {
    auto parsed = net::ParseAddresses(settings.address, port.port, names, error);
    if (!parsed) return false;
    *addresses = std::move(*parsed);
    // A path among the addresses is one socket file and so one port's: that of reading.
    std::erase_if(*addresses, [&](const net::Address& address) {
      return port.writable && address.kind == net::Address::Kind::kUnix &&
             address.path != port.port;
    });
    if (addresses->empty()) {
      *error =
          "handlersocket_address is a path, which is the socket of the reading port: set "
          "handlersocket_socket_wr to the path of another for handlersocket_port_wr";
      return false;
    }
  }
  if (!port.socket.empty()) {
    net::Address socket;
    socket.kind = net::Address::Kind::kUnix;
    socket.path = port.socket;
    addresses->push_back(std::move(socket));
  }
  for (const net::Address& address : *addresses) {
    if (port.secret.empty() && !net::IsLoopback(address)) {
      *error = "refusing to listen on " + net::ToText(address) + " without a secret: set " +
               port.secret_variable + ", or set handlersocket_address to 127.0.0.1";
      return false;
    }
  }
  return true;
}

bool Runtime::StartPort(const Port& port, const Settings& settings, std::string* error) {
  std::vector<net::Address> addresses;
  if (!FindAddresses(port, settings, &addresses, error)) return false;
  if (addresses.empty()) return true;  // Neither a port nor a socket is set: this mode is off.
  auto frontend = std::make_unique<frontend::HandlerSocketSettings>();
  frontend->writable = port.writable;
  frontend->limits = settings.limits;
  frontend->tokens = settings.tokens;
  if (!frontend->secret.Set(port.secret)) {
    *error = std::string(port.secret_variable) + " is longer than " +
             std::to_string(base::Secret::kSecretBytesMax) + " bytes";
    return false;
  }
  exec::ServiceSettings service_settings;
  service_settings.name = port.name;
  service_settings.workers = port.threads;
  service_settings.workers_variable = port.threads_variable;
  service_settings.connections_variable = "handlersocket_connections_max";
  service_settings.memory_variable = "handlersocket_memory_max_bytes";
  service_settings.elastic = true;
  service_settings.writes = port.writable;
  service_settings.addresses = addresses;
  service_settings.listen = settings.listen;
  service_settings.listen.variables = {"handlersocket_address", port.port_variable};
  // As the server's own where clients must authenticate.
  if (!port.secret.empty()) service_settings.listen.unix_mode = 0777;
  service_settings.limits = settings.limits;
  service_settings.limits.descriptors_max = DescriptorsForConnections();
  if (frontend->secret.empty()) service_settings.limits.auth_timeout_s = 0;
  const frontend::HandlerSocketSettings* shared = frontend.get();
  // Both are kept before it starts: of a service that fails some workers run, and until Stop they
  // wait for the server's start, which comes after ours.
  frontends_.push_back(std::move(frontend));
  services_.push_back(std::make_unique<exec::Service>(
      service_settings, *sessions_, *lane_, stats_, Shared().commits,
      [shared] { return std::make_unique<frontend::HandlerSocket>(*shared); }, Log));
  if (!services_.back()->Start(error)) return false;
  for (const net::Address& address : addresses) {
    sql_print_information("rowsocket: handlersocket listens on %s, %s, %u threads",
                          net::ToText(address).c_str(), port.writable ? "read/write" : "read only",
                          port.threads);
  }
  return true;
}

void Runtime::WarnAboutOpenFiles(const Settings& settings) {
  if (services_.empty()) {
    sql_print_warning(
        "rowsocket: neither handlersocket_port nor handlersocket_port_wr is set: "
        "nothing is served");
    return;
  }
  // Connections, and for each worker its event loop and the tables it keeps open.
  const ulong workers = settings.threads + settings.threads_wr;
  const ulong wanted = 1024 + workers * 64;
  if (open_files_limit < wanted) {
    sql_print_warning(
        "rowsocket: open_files_limit is %lu; %lu threads want at least %lu, and one "
        "more for each connection: raise open_files_limit",
        open_files_limit, workers, wanted);
  }
}

void Runtime::Stop() {
  if (sessions_ != nullptr) sessions_->Stop();
  for (auto& service : services_) service->AskToStop();
  if (lane_ != nullptr) lane_->Stop();
  for (auto& service : services_) service->Stop();
  services_.clear();
  lane_.reset();
  frontends_.clear();
}

}  // namespace rowsocket::plugin
