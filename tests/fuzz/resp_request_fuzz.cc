// libFuzzer target: any bytes as a client of RESP sends them, behind one byte that chooses limits.
//
// The target asserts the promises of request.h: no more is consumed than there is; arguments are
// within the limits; a beginning of a request never is another request, and what was noted of it
// changes nothing of the whole request; what the pattern of a request takes, NextRequest takes,
// too.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/arena.h"
#include "protocol/resp/request.h"

namespace rowsocket::resp {
namespace {

using Result = RequestStep::Result;

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

/// What the pattern of the request before takes of the input is what NextRequest takes.
void RunPattern(const RequestPattern& pattern, std::string_view input, const RequestLimits& limits,
                const RequestStep& whole) {
  base::Arena arena;
  RequestStep step;
  if (!pattern.Take(input, limits, arena, &step)) return;
  Require(whole.result == Result::kRequest && step.consumed == whole.consumed &&
              Texts(step) == Texts(whole),
          "a pattern takes what NextRequest takes");
}

/// Takes one request off the input; false where there is none that another could follow.
bool RunOne(std::string_view* input, const RequestLimits& limits, RequestPattern* pattern) {
  base::Arena arena;
  const std::vector<char> all(input->begin(), input->end());
  const RequestStep step = NextRequest(*input, limits, arena);
  RunPattern(*pattern, {all.data(), all.size()}, limits, step);
  Require(step.consumed <= input->size(), "no more is consumed than there is");
  const std::string exact(input->substr(0, step.consumed));
  input->remove_prefix(step.consumed);
  if (step.result == Result::kNothing) return step.consumed > 0;
  if (step.result != Result::kRequest) return false;
  Require(!step.arguments.empty() && step.arguments.size() <= limits.arguments_max,
          "a request has arguments, within the limit");
  const std::vector<std::string> whole = Texts(step);
  pattern->Note(exact, NextRequest(exact, limits, arena).arguments);
  RequestProgress progress;
  for (size_t size = 0; size < step.consumed; size += 1 + size / 8) {
    // A copy of its own, so that ASan sees a byte read past its end.
    const std::vector<char> bytes(exact.begin(), exact.begin() + static_cast<ptrdiff_t>(size));
    base::Arena other;
    const RequestStep beginning =
        NextRequest({bytes.data(), bytes.size()}, limits, other, &progress);
    Require(beginning.result == Result::kNeedMore, "a beginning of a request needs more");
  }
  base::Arena again;
  Require(Texts(NextRequest(exact, limits, again)) == whole, "what follows makes no difference");
  Require(Texts(NextRequest(exact, limits, again, &progress)) == whole,
          "what was noted of its beginning makes no difference");
  return true;
}

/// The first byte chooses the limits.
void Run(std::string_view input) {
  if (input.empty()) return;
  const char choice = input.front();
  input.remove_prefix(1);
  const bool is_small = (choice & 1) != 0, is_in = (choice & 2) == 0;
  const RequestLimits limits{is_small ? size_t{16} : 4096, is_small ? size_t{4096} : 1u << 20,
                             is_in};
  RequestPattern pattern;
  while (RunOne(&input, limits, &pattern)) {
  }
}

}  // namespace
}  // namespace rowsocket::resp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rowsocket::resp::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
