// What a daemon gets: a protocol's descriptor, and the ports that the protocol wants served. A
// folder inside this one, such as handlersocket/, holds both for one protocol.
//
// Threads: the server's plugin code calls from one thread at a time; Descriptor::show_own, any
// session's.
// Errors: texts, which name the variable to change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/server/session_factory.h"
#include "exec/port.h"
#include "plugin/status.h"

namespace rowsocket::plugin {

/// One port: where it listens, and which protocol its connections speak.
struct PortPlan {
  exec::PortSettings settings;
  std::function<std::unique_ptr<exec::Frontend>()> make_frontend;
  std::string note;  ///< For the log, after the address: "read only".
};

struct DaemonSettings {
  engine::server::SessionSettings sessions;
  unsigned lock_wait_threads = 64;
  unsigned auth_threads = 0;     ///< Threads that check logins; 0: no port asks for logins.
  bool checks_accounts = false;  ///< False: the threads only delay the answers to wrong secrets.
  const exec::AccountLimitSettings* account_limits = nullptr;  ///< SET GLOBAL changes them.
  std::vector<PortPlan> ports;
};

/// The objects in which the ports of a plugin count.
struct Counted {
  const exec::StatRegistry& stats;
  const exec::LatencyRegistry& latency;
  exec::SlowLog& slow;
  exec::HotRows& hot_rows;
};

/// One protocol while its plugin runs. It outlives its ports, so state that their frontends share
/// is among its members.
class Protocol {
 public:
  virtual ~Protocol() = default;

  /// Makes ports from the values of the plugin's variables. False, with a text, when the values do
  /// not fit.
  virtual bool Configure(const Counted& counted, DaemonSettings* settings, std::string* error) = 0;
  /// Starts a thread that works independently of the ports.
  virtual bool StartHousekeeper(engine::SessionFactory&, std::string* /*error*/) { return true; }
  virtual void StopHousekeeper() {}
};

/// The verbs by which latencies are counted (exec::Item::verb).
struct VerbNames {
  uint32_t count = 0;
  std::string_view (*name)(uint32_t verb) = nullptr;
};

struct Descriptor {
  const char* name;         ///< The plugin's name; its variables begin with it.
  const char* status_name;  ///< How the names of its counters in SHOW STATUS begin.
  const char* since_name;   ///< The name of the counter that says since when latencies are counted.
  const char* description;
  SystemVariable** variables;
  std::unique_ptr<Protocol> (*make_protocol)();
  /// Adds the protocol's own counters. Null `protocol`: the protocol does not run, and all counters
  /// are 0.
  void (*show_own)(const Protocol* protocol, ShownCounters* shown);
  VerbNames verbs;
  bool (*shows_values)();  ///< Whether slow requests show their values: the plugin's variable.
  bool (*audits)();        ///< Whether audit plugins are told of requests: the plugin's variable.
};

}  // namespace rowsocket::plugin
