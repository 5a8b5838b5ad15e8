#include "bench/options.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace rowsocket::bench {
namespace {

std::string ErrorOf(const std::string& workload, const std::function<void(Options*)>& change) {
  Options options;
  options.workload = workload;
  options.port = 1;
  change(&options);
  std::string error;
  return Complete(&options, &error) ? "" : error;
}

std::optional<Options> Parsed(std::vector<std::string> arguments, int* exit_status) {
  arguments.insert(arguments.begin(), "rowsocket-load");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseOptions(static_cast<int>(argv.size()), argv.data(), exit_status);
}

TEST(Options, OptionsThatCannotRunAreRefused) {
  const auto nothing = [](Options*) {};
  EXPECT_EQ(ErrorOf("hs-get", nothing), "");
  EXPECT_NE(ErrorOf("hs-gets", nothing), "");
  EXPECT_NE(ErrorOf("hs-get", [](Options* o) { o->port = 0; }), "");
  EXPECT_EQ(ErrorOf("hs-get", [](Options* o) { o->port = 0, o->socket_path = "/run/x"; }), "");
  EXPECT_NE(ErrorOf("hs-get", [](Options* o) { o->threads = 2; }), "");
  EXPECT_NE(ErrorOf("hs-get", [](Options* o) { o->keys_text = "some"; }), "");
  EXPECT_NE(ErrorOf("hs-get", [](Options* o) { o->values_text = "one"; }), "");
  EXPECT_NE(ErrorOf("hs-update", [](Options* o) { o->set_text = "one,two"; }), "");
  EXPECT_NE(ErrorOf("hs-get", [](Options* o) { o->key_text = "{k}"; }), "");
  EXPECT_NE(ErrorOf("sql-get", [](Options* o) { o->depth = 2; }), "");
  EXPECT_NE(ErrorOf("sql-get", [](Options* o) { o->expect_reply = "x"; }), "");
  EXPECT_NE(ErrorOf("sql-get", [](Options* o) { o->idle = 5; }), "");
  EXPECT_NE(ErrorOf("sql-get", [](Options* o) { o->key_text = "it's {n}"; }), "");
  EXPECT_NE(ErrorOf("mc-set", [](Options* o) { o->expect_reply = "x"; }), "");
  EXPECT_EQ(ErrorOf("mc-get", [](Options* o) { o->expect_reply = "x"; }), "");
  EXPECT_NE(ErrorOf("hs-range", [](Options* o) { o->rows = 99; }), "");
  EXPECT_NE(ErrorOf("hs-decrement", [](Options* o) { o->hot_rows = o->rows + 1; }), "");
  EXPECT_NE(ErrorOf("hs-decrement", [](Options* o) { o->rows = 1, o->cold_percent = 5; }), "");
  EXPECT_NE(ErrorOf("hs-get", [](Options* o) { o->verify_conservation = true; }), "");
  EXPECT_NE(ErrorOf("hs-get",
                    [](Options* o) {
                      o->threads = 2;
                      o->connections = 2;
                      o->requests = 1;
                    }),
            "");
}

TEST(Options, TheWorkloadDecidesProtocolAndBatch) {
  int exit_status = 0;
  auto options = Parsed({"--workload", "mc-multiget", "--port", "5"}, &exit_status);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->protocol, Protocol::kMemcached);
  EXPECT_EQ(options->batch, 16u);
  options =
      Parsed({"--workload=hs-insert", "--port=5", "--rows=10", "-C", "7", "-C", "8"}, &exit_status);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->first_id, 11u);
  EXPECT_EQ(options->connections, 8u);  // the last of several equal options counts
}

TEST(Options, AWrongCommandLineEndsWithTwoAndHelpWithZero) {
  int exit_status = 0;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Parsed({"--port", "5"}, &exit_status).has_value());
  EXPECT_EQ(exit_status, 2);
  EXPECT_FALSE(Parsed({"--workload", "hs-get", "--port", "x"}, &exit_status).has_value());
  EXPECT_EQ(exit_status, 2);
  EXPECT_FALSE(Parsed({"--workload", "hs-get"}, &exit_status).has_value());
  EXPECT_EQ(exit_status, 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("--port"), std::string::npos);
  testing::internal::CaptureStdout();
  EXPECT_FALSE(Parsed({"--help"}, &exit_status).has_value());
  EXPECT_EQ(exit_status, 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("handler-read"), std::string::npos);
}

}  // namespace
}  // namespace rowsocket::bench
