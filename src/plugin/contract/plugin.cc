// The declaration of rowsocket_contract.so: a library for tests alone, which runs the contract
// suite in the server that loads it.
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

#include "api.h"
#include "engine/server/session.h"
#include "plugin/contract/commit_failure.h"

namespace rowsocket::plugin::contract {
namespace {

char* report;
char* filter;
std::optional<std::thread> runner;

MYSQL_SYSVAR_STR(report, report, PLUGIN_VAR_READONLY, "The file that the report is written to",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(filter, filter, PLUGIN_VAR_READONLY, "Which tests are run, as of --gtest_filter",
                 nullptr, nullptr, "*");
st_mysql_sys_var* variables[] = {MYSQL_SYSVAR(report), MYSQL_SYSVAR(filter), nullptr};

/// False when the server shuts down instead of starting.
bool WaitForTheServer() {
  engine::IndexRegistry indexes;
  engine::server::ServerSessionFactory factory({}, indexes);
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
  sql_print_information("rowsocket_contract: the suite has %s", failed == 0 ? "passed" : "failed");
  std::rename(partial.c_str(), path.c_str());
}

int Init(void* engine) {
  RegisterCommitFailure(engine);
  if (report == nullptr) return 0;
  runner.emplace([path = std::string(report), tests = std::string(filter)] {
    if (WaitForTheServer()) RunSuite(path, tests);
  });
  return 0;
}

int Deinit(void*) {
  if (runner) runner->join();
  runner.reset();
  return 0;
}

st_mysql_storage_engine info = {MYSQL_HANDLERTON_INTERFACE_VERSION};

}  // namespace
}  // namespace rowsocket::plugin::contract

using namespace rowsocket::plugin::contract;  // The macro below names things of the namespace.

maria_declare_plugin(rowsocket_contract){
    MYSQL_STORAGE_ENGINE_PLUGIN,
    &info,
    "rowsocket_contract",
    "Rowsocket",
    "The contract suite of Rowsocket's engine; for tests alone",
    PLUGIN_LICENSE_GPL,
    Init,
    Deinit,
    0x0100,
    nullptr,
    variables,
    "0.1.0",
    MariaDB_PLUGIN_MATURITY_GAMMA,
} maria_declare_plugin_end;
