// The declaration of rowsocket_contract.so: a library only for tests, which runs the contract suite
// in the server that loads it.
//
// Flow: the server is started with --plugin-load-add=rowsocket_contract and
// --rowsocket-contract-report=FILE. A thread waits for the server's start, runs the suite once and
// writes GoogleTest's report, as JSON, into FILE, which appears when the report is complete.
// tests/integration/rows/test_engine_contract.py does so.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "declare.h"
#include "engine/server/server_log.h"
#include "engine/server/session_factory.h"
#include "plugin/contract/refusing_engine.h"

namespace rowsocket::plugin::contract {
namespace {

char* report;
char* filter;
std::optional<std::thread> runner;

MYSQL_SYSVAR_STR(report, report, PLUGIN_VAR_READONLY, "The file that the report is written to",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(filter, filter, PLUGIN_VAR_READONLY, "Which tests are run, as of --gtest_filter",
                 nullptr, nullptr, "*");
SystemVariable* variables[] = {MYSQL_SYSVAR(report), MYSQL_SYSVAR(filter), nullptr};

/// False when the server shuts down instead of starting.
bool WaitForTheServer() {
  engine::IndexRegistry indexes;
  engine::server::ServerSessionFactory factory(
      engine::server::SessionSettings{12, {"contract", /*shows_padding=*/true}}, indexes);
  return factory.Create(engine::LockWait::kNever) != nullptr;
}

void RunSuite(const std::string& path, const std::string& tests) {
  const std::string partial = path + ".partial";
  std::string arguments[] = {"rowsocket_contract", "--gtest_output=json:" + partial,
                             "--gtest_filter=" + tests};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  int argc = 3;
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  engine::server::LogNote("the contract suite has %s", failed == 0 ? "passed" : "failed");
  std::rename(partial.c_str(), path.c_str());
}

struct SuiteDescriptor {
  const char* name;
  const char* status_name;
  const char* description;
  SystemVariable** variables;
};

struct Suite {
  static int Init() {
    if (report == nullptr) return 0;
    runner.emplace([path = std::string(report), tests = std::string(filter)] {
      if (WaitForTheServer()) RunSuite(path, tests);
    });
    return 0;
  }
  static int Deinit() {
    if (runner) runner->join();
    runner.reset();
    return 0;
  }
  static void Show(StatusVariable* var) {
    static StatusVariable none[] = {EndOfStatus()};
    ShowAll(var, none);
  }
  static StatusVariable flushed() { return EndOfStatus(); }
  static SuiteDescriptor descriptor() {
    return {"rowsocket_contract", "Rowsocket_contract",
            "The contract suite of Rowsocket's engine; for tests alone", variables};
  }
};

DaemonInfo info = {MYSQL_DAEMON_INTERFACE_VERSION};

}  // namespace
}  // namespace rowsocket::plugin::contract

// The macro below names things of the namespaces.
using namespace rowsocket::plugin;
using namespace rowsocket::plugin::contract;

ROWSOCKET_PLUGINS(DeclareRefusingEngine(), DeclarePlugin<Suite>(&info))
