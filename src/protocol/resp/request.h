// Cuts the bytes that a client of RESP has sent into requests: arrays of bulk strings, and inline
// commands as people type them.
//
// Flow: receive; NextRequest until its result is kNeedMore; receive more. A request that is not
// whole is read again from its first byte when more has come, except the arguments that
// RequestProgress has noted.
// Threads: any; nothing is shared.
// Lifetime: arguments are views of the input or of the arena.
// Limits: RequestLimits, checked before anything is sized by them, and those of inline commands and
// of counts in model/limits.h.
// Errors: the texts of Redis 7.2, and one of our own where the CR LF after an argument is missing.
// After each the connection ends. Source:
// https://redis.io/docs/latest/develop/reference/protocol-spec/, and Redis's behavior.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"

namespace rowsocket::resp {

struct RequestLimits {
  size_t arguments_max = 0;
  size_t bytes_max = 0;         ///< Bytes of one argument.
  bool is_in = true;            ///< False: the errors say that the client has not logged in.
  size_t beside_bytes_max = 0;  ///< Bytes that a whole request may have more than one argument.
};

struct RequestStep {
  enum class Result : uint8_t {
    kRequest,   ///< `arguments`, at least one.
    kNothing,   ///< An empty line or array, which has no reply.
    kNeedMore,  ///< The input is the beginning of a request.
    kError,     ///< `error` is the text after `ERR Protocol error: `; the connection ends.
    kHttp,      ///< The connection ends without a reply.
  };
  Result result = Result::kNeedMore;
  size_t consumed = 0;
  std::span<std::string_view> arguments;
  std::string_view error;
};

/// Notes which arguments of a large request that is not whole have come. Without it, a client could
/// keep a thread busy with single bytes, each of which would have all arguments read again.
struct RequestProgress {
  size_t arguments = 0;  ///< How many arguments have come.
  size_t at = 0;         ///< Where the next argument begins; 0: nothing is known.
};

/// Takes the next request off the input. `progress`: empty, or what the last call has left there,
/// if that call got the beginning of this input and returned kNeedMore. Null: nothing is known, and
/// nothing is noted.
RequestStep NextRequest(std::string_view input, const RequestLimits& limits, base::Arena& arena,
                        RequestProgress* progress = nullptr);

/// Wipes what NextRequest has copied of a request that it has taken off the front of `request`: the
/// arguments of an inline command. The other arguments are in the input.
void WipeCopies(std::string_view request, std::span<const std::string_view> arguments);

/// A request whose second argument may be another one: clients send the same command again and
/// again, for another key. What it takes, NextRequest would take, too, with the same arguments.
/// Threads: one owner.
/// Limits: kRespRepeatedBytesMax bytes beside the second argument.
class RequestPattern {
 public:
  /// The bytes of a request that NextRequest has taken, and its arguments. What cannot be a
  /// pattern is forgotten: an inline command, a longer request, less than two arguments.
  void Note(std::string_view request, std::span<const std::string_view> arguments);
  /// Takes a request that fits the pattern. False: the input does not begin with such a request, or
  /// has only a part of it.
  bool Take(std::string_view input, const RequestLimits& limits, base::Arena& arena,
            RequestStep* step) const;

 private:
  struct Place {
    size_t at = 0;
    size_t size = 0;
  };

  std::string head_;         ///< Up to the `$` of the second argument; empty: there is no pattern.
  std::string tail_;         ///< From the CR LF after the second argument on.
  Place name_;               ///< In head_.
  std::vector<Place> rest_;  ///< The arguments in tail_.
};

}  // namespace rowsocket::resp
