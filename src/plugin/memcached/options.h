// daemon_memcached_option: a command line of memcached, as in configurations of MySQL.
//
// Understood: -p PORT, -t THREADS, -c CONNECTIONS, -l ADDRESS, -s PATH, -a MODE, -I SIZE[k|m], and
// -S (accounts) and -Z (TLS) without a value; a value may follow at once or after blanks. All other
// options are named in `unused` and have no effect.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::plugin {

struct MemcachedOptions {
  // The ranges are those of the variables of the same meaning.
  static constexpr unsigned kThreadsMax = 3000;
  static constexpr unsigned kConnectionsMax = 1u << 20;
  static constexpr unsigned long long kItemBytesMin = 1024, kItemBytesMax = 1u << 30;

  std::optional<std::string> port;
  std::optional<unsigned> threads;
  std::optional<unsigned> connections;
  std::optional<std::string> address;
  std::optional<std::string> socket;
  std::optional<unsigned> socket_mode;
  bool accounts = false;
  std::optional<unsigned long long> item_bytes_max;
  bool needs_tls = false;
  std::vector<std::string> unused;
};

/// Reads the options. False, with a text, when an option that is understood has no value or a wrong
/// one.
bool ParseMemcachedOptions(std::string_view text, MemcachedOptions* options, std::string* error);

}  // namespace rowsocket::plugin
