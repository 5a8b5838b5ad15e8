// Cuts the bytes that a connection receives into lines.
//
// Flow: receive; Next until it says kNeedMore; receive more.
// Threads: one owner, the connection.
// Lifetime: a line is a view of the input that it was found in.
// Errors: a line over the limit is reported once, when it has ended, and none of its bytes are
// kept. The next line is then read as usual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rowsocket::handlersocket {

/// Finds lines in a growing input, and remembers how much of the input it has searched: each byte
/// is searched once, however slowly the bytes come.
class Framer {
 public:
  enum class Result : uint8_t {
    kLine,      ///< `line` is complete.
    kTooLong,   ///< A line longer than the limit has ended: answer ErrorCode::kLineLength.
    kNeedMore,  ///< No line ends in this input.
  };
  struct Step {
    Result result = Result::kNeedMore;
    /// kLine: the line without its LF and without a CR just before that.
    std::string_view line;
    /// Bytes at the front of the input that the next call must not get again. Also more than 0 with
    /// kNeedMore while the bytes of a too long line are thrown away.
    size_t consumed = 0;
  };

  /// `input` has the bytes that are received and not consumed; between two calls it loses the
  /// consumed bytes at its front and may grow at its end. The limit is on the bytes before the LF;
  /// it may differ from call to call (a connection that has authenticated may send longer lines).
  Step Next(std::string_view input, size_t line_bytes_max);

 private:
  size_t scanned_ = 0;     ///< Bytes at the front of the input that hold no LF.
  bool discards_ = false;  ///< The bytes up to the next LF belong to a line that is too long.
};

}  // namespace rowsocket::handlersocket
