// The options of rowsocket-load: its command line as one struct.
//
// Flow: ParseOptions once in main; constant afterwards, read by all threads.
// Errors: ParseOptions prints the error, or the help, and sets the exit status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/keys.h"
#include "bench/text.h"

namespace rowsocket::bench {

enum class Protocol : uint8_t { kHandlerSocket, kMemcached, kRedis, kSql, kX };

struct Options {
  std::string workload;
  Protocol protocol = Protocol::kHandlerSocket;  ///< The protocol of the workload.

  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::string socket_path;
  std::string auth;
  bool tls = false;
  std::string user = "root";
  std::string password;

  size_t connections = 1;
  size_t depth = 1;
  size_t threads = 1;
  size_t idle = 0;
  bool idle_hello = false;
  double rate = 0;  ///< Requests per second; 0: closed loop.
  double seconds = 5;
  double warmup = 1;
  uint64_t requests = 0;  ///< The run ends when this many requests were sent; 0: no limit.
  uint64_t seed = 1;
  bool progress = false;
  int server_pid = 0;

  std::string db = "test";
  std::string table = "user";
  std::string index = "PRIMARY";
  std::string key_column = "user_id";
  std::string columns_text = "user_name,user_email,created";
  std::string values_text = "user {n},user{n}@example.com,2010-02-03 11:22:33";
  std::string key_text = "{n}";
  std::string update_columns_text = "user_name";
  std::string set_text = "u{v}";
  std::string keys_text = "uniform";
  uint64_t rows = 1'000'000;
  size_t batch = 0;  ///< 0: the default of the workload.
  size_t limit = 100;
  uint64_t first_id = 0;  ///< The first id of inserts; 0: rows + 1.
  double read_percent = 90;
  int64_t expect_offset = 0;
  std::string expect_reply;

  std::string stock_column = "stock";
  uint64_t guard = 3;
  std::string orders_table = "orders";
  bool with_tokens = false;
  uint64_t hot_rows = 1;
  double cold_percent = 0;
  bool before_images = false;
  bool verify_conservation = false;
  std::string ma_flags = "MD D1 v";
  uint64_t redis_stock = 0;

  // The columns and templates that Complete makes from the texts above.
  std::vector<std::string> columns;
  std::vector<std::string> update_columns;
  Templates values;
  Templates set;
  Template key;
  Keys keys;

  /// The row whose content a reply about row `n` must show.
  uint64_t ExpectedRow(uint64_t n) const { return n + static_cast<uint64_t>(expect_offset); }
};

/// Parses the command line. Without a value when the process is to end with `*exit_status`.
std::optional<Options> ParseOptions(int argc, char** argv, int* exit_status);

/// The second half of ParseOptions, for tests: fills the members that follow from the texts. On an
/// error false, with `*error`.
bool Complete(Options* options, std::string* error);

}  // namespace rowsocket::bench
