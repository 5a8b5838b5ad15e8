// A request that has reached a table, as it is told to the server's audit plugins.
//
// Lifetime: views of what the caller owns.
#pragma once

#include <cstdint>
#include <string_view>

namespace rowsocket::engine {

struct TableAccess {
  std::string_view schema, table;
  bool writes = false;
  /// The client's account; 0 and empty: the connection has none.
  uint64_t account_id = 0;
  std::string_view user, host;
  std::string_view address;  ///< The client's address, without its port.
  /// The connection's number in the server's process list and events; 0: it has none.
  uint64_t thread_id = 0;
};

}  // namespace rowsocket::engine
