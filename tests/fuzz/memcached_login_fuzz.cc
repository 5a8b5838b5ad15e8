// libFuzzer target: the bytes of a connection that has yet to log in, in both dialects, in pieces
// of any size.
//
// Input: the size of the pieces, then the bytes. The target asserts the promises of login.h: the
// way in which the bytes were split makes no difference; no more bytes are kept than the limit; a
// name and a password lie within the bytes that are consumed.
#include <algorithm>
#include <string>
#include <vector>

#include "memcached_fuzz.h"
#include "protocol/memcached/login.h"

namespace rowsocket::memcached {
namespace {

bool IsWithin(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

/// What was taken off the input, as text.
std::vector<std::string> Take(std::string_view input, size_t piece_bytes) {
  using Result = LoginStep::Result;
  std::vector<std::string> taken;
  std::string pending;
  while (!input.empty()) {
    const std::string_view piece = input.substr(0, piece_bytes);
    input.remove_prefix(piece.size());
    pending += piece;
    for (;;) {
      // Each piece is a copy of its own, so that ASan sees a byte read past its end.
      const std::vector<char> received(pending.begin(), pending.end());
      const std::string_view seen(received.data(), received.size());
      Command command;
      const LoginStep step = NextLogin(seen, &command);
      Require(step.consumed <= seen.size(), "no more is consumed than there is");
      if (step.result == Result::kNeedMore) break;
      Require(step.consumed != 0, "what has come is consumed");
      const std::string_view used = seen.substr(0, step.consumed);
      Require(IsWithin(step.user, used) && IsWithin(step.password, used), "a login is consumed");
      taken.push_back(std::to_string(static_cast<int>(step.result)) + " " +
                      std::to_string(static_cast<int>(command.error)) + " " +
                      std::string(step.user) + " " + std::string(step.password));
      if (command.closes) return taken;
      pending.erase(0, step.consumed);
    }
    Require(pending.size() <= LoginBytesMax(), "no more is kept than the limit");
  }
  return taken;
}

}  // namespace
}  // namespace rowsocket::memcached

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rowsocket::memcached;
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (HasLongLine(input)) return 0;
  const std::vector<std::string> whole = Take(input, input.size());
  Require(Take(input, 1 + data[0]) == whole, "requests do not depend on how they were received");
  return 0;
}
