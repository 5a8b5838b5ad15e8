#include "protocol/handlersocket/framer.h"

#include <cstring>
#include <utility>

namespace rowsocket::handlersocket {

Framer::Step Framer::Next(std::string_view input, size_t line_bytes_max) {
  const size_t unseen = input.size() - scanned_;
  const void* const found =
      unseen == 0 ? nullptr : std::memchr(input.data() + scanned_, '\n', unseen);
  if (found == nullptr) {
    scanned_ = input.size();
    if (!discards_ && scanned_ <= line_bytes_max) return {};
    discards_ = true;
    return {Result::kNeedMore, {}, std::exchange(scanned_, 0)};
  }
  const size_t line_bytes = static_cast<size_t>(static_cast<const char*>(found) - input.data());
  const size_t consumed = line_bytes + 1;
  const bool too_long = std::exchange(discards_, false) || line_bytes > line_bytes_max;
  scanned_ = 0;
  if (too_long) return {Result::kTooLong, {}, consumed};
  std::string_view line = input.substr(0, line_bytes);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {Result::kLine, line, consumed};
}

}  // namespace rowsocket::handlersocket
