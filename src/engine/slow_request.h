// A request that took long, as the server's log of slow queries shows it.
//
// Lifetime: views of what the caller owns.
#pragma once

#include <cstdint>
#include <string_view>

namespace rowsocket::engine {

struct SlowRequest {
  std::string_view text;     ///< The request, in a form that reads like a statement.
  std::string_view user;     ///< The account's name; empty: the connection has none.
  std::string_view address;  ///< The client's address, without its port.
  std::string_view schema;
  int64_t began_s = 0;    ///< Seconds since 1970.
  uint64_t whole_us = 0;  ///< Time between the request and its answer.
  uint64_t lock_us = 0;   ///< Time that the request waited for a lock.
  uint64_t rows = 0;      ///< Rows that were sent or changed.
  uint64_t examined = 0;  ///< Rows that were looked at.
  bool writes = false;
};

}  // namespace rowsocket::engine
