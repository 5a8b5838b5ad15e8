// libFuzzer target: any bytes as a client of RESP sends them.
//
// The target asserts the promises of request.h: no more is consumed than there is; arguments are
// within the limits; a beginning of a request never is another request.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/arena.h"
#include "protocol/resp/request.h"

namespace rowsocket::resp {
namespace {

using Outcome = RequestStep::Outcome;
constexpr RequestLimits kLimits{16, 4096, true};

void Require(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

std::vector<std::string> Texts(const RequestStep& step) {
  std::vector<std::string> texts;
  for (const std::string_view argument : step.arguments) texts.emplace_back(argument);
  return texts;
}

void Run(std::string_view input) {
  base::Arena arena;
  const RequestStep step = NextRequest(input, kLimits, arena);
  Require(step.consumed <= input.size(), "no more is consumed than there is");
  if (step.outcome != Outcome::kRequest) return;
  Require(!step.arguments.empty() && step.arguments.size() <= kLimits.arguments_max,
          "a request has arguments, within the limit");
  const std::vector<std::string> whole = Texts(step);
  for (size_t size = 0; size < step.consumed; size += 1 + size / 8) {
    // A copy of its own, so that ASan sees a byte read past its end.
    const std::vector<char> bytes(input.begin(), input.begin() + static_cast<ptrdiff_t>(size));
    base::Arena other;
    const RequestStep beginning = NextRequest({bytes.data(), bytes.size()}, kLimits, other);
    Require(beginning.outcome == Outcome::kNeedMore, "a beginning of a request needs more");
  }
  base::Arena again;
  const std::string exact(input.substr(0, step.consumed));
  Require(Texts(NextRequest(exact, kLimits, again)) == whole, "what follows makes no difference");
}

}  // namespace
}  // namespace rowsocket::resp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rowsocket::resp::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
