// Cuts the bytes that a client of RESP has sent into requests: arrays of bulk strings, and inline
// commands as people type them.
//
// Flow: receive; Next until it says kNeedMore; receive more. A request that is not whole is parsed
// again from its first byte when more has come.
// Threads: any; nothing is shared. Lifetime: arguments are views of the input or of the arena.
// Limits: RequestLimits, checked before anything is sized by them. Errors: the texts of Redis 7.2,
// behind which the connection ends.
// Source: https://redis.io/docs/latest/develop/reference/protocol-spec/, and Redis's behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/arena.h"

namespace rowsocket::resp {

struct RequestLimits {
  size_t arguments_max = 0;
  size_t bytes_max = 0;  ///< Of one argument, and of a request.
  bool is_in = true;     ///< Else the errors say that the client has not logged in.
};

inline constexpr size_t kInlineBytesMax = 64u << 10;
inline constexpr size_t kCountBytesMax = 64u << 10;

struct RequestStep {
  enum class Outcome : uint8_t {
    kRequest,   ///< `arguments`, at least one.
    kNothing,   ///< An empty line or array, which has no reply.
    kNeedMore,  ///< The input is the beginning of a request.
    kError,     ///< `error` behind `ERR Protocol error: `; the connection ends.
    kHttp,      ///< The connection ends without a reply.
  };
  Outcome outcome = Outcome::kNeedMore;
  size_t consumed = 0;
  std::span<std::string_view> arguments;
  std::string_view error;
};

RequestStep NextRequest(std::string_view input, const RequestLimits& limits, base::Arena& arena);

}  // namespace rowsocket::resp
