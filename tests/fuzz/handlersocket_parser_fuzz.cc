// libFuzzer target: any bytes, in pieces of any size, through the framer and the parser.
//
// Input: one byte that chooses limits and pieces, then the bytes that a connection receives.
// The target asserts the promises of framer.h and parser.h: the way in which the bytes were split
// makes no difference; a command keeps within its limits and its line; a line written from a
// command parses to the same command.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/buffer.h"
#include "protocol/handlersocket/command_check.h"
#include "protocol/handlersocket/dump.h"
#include "protocol/handlersocket/escape.h"
#include "protocol/handlersocket/framer.h"
#include "protocol/handlersocket/group.h"
#include "protocol/handlersocket/parser.h"

namespace rowsocket::handlersocket {
namespace {

void Require(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

/// Small limits, so that short inputs reach them; or the defaults.
model::Limits ChooseLimits(uint8_t choice) {
  model::Limits limits;
  if ((choice & 1) != 0) {
    limits.index_ids_max = 4;
    limits.values_max = 3;
    limits.line_bytes_max = 64;
  }
  return limits;
}

/// The lines of `input` when it comes in pieces of `piece_bytes`; "too long" stands for a line over
/// the limit.
std::vector<std::string> Lines(std::string_view input, size_t piece_bytes, size_t line_bytes_max) {
  std::vector<std::string> lines;
  Framer framer;
  std::string pending;
  while (!input.empty()) {
    const std::string_view piece = input.substr(0, piece_bytes);
    input.remove_prefix(piece.size());
    pending += piece;
    for (;;) {
      // Each piece is a copy of its own, so that ASan sees a byte read past its end.
      const std::vector<char> received(pending.begin(), pending.end());
      const Framer::Step step = framer.Next({received.data(), received.size()}, line_bytes_max);
      Require(step.consumed <= received.size(), "no more is consumed than there is");
      if (step.result == Framer::Result::kLine) {
        Require(step.line.size() <= line_bytes_max, "a line is within the limit");
        Require(step.line.find('\n') == std::string_view::npos, "a line holds no LF");
        lines.emplace_back(step.line);
      } else if (step.result == Framer::Result::kTooLong) {
        lines.emplace_back("too long");
      }
      pending.erase(0, step.consumed);
      if (step.result == Framer::Result::kNeedMore) break;
    }
    Require(pending.size() <= line_bytes_max, "no more is kept than the limit");
  }
  return lines;
}

void CheckLine(std::string_view text, const model::Limits& limits) {
  const std::vector<char> bytes(text.begin(), text.end());
  const std::string_view line(bytes.data(), bytes.size());
  base::Arena arena;
  Command command = ParseLine(line, limits, arena);
  const std::string broken = CheckCommand(line, limits, command);
  Require(broken.empty(), broken.c_str());

  const std::string dump = Dump(command);
  Command again = ParseLine(line, limits, arena);
  Require(Dump(again) == dump, "the same line is the same command");
  Require(Dump(command) == dump, "a command stays as it is while its arena is used");

  const bool complete = command.request.find.key_parts_given <= model::kKeyPartsMax;
  if (!command.errors.empty() || !complete) return;
  const std::string written = ToLine(command);
  again = ParseLine(written, limits, arena);
  Require(Dump(again) == dump, "a command written again is the same command");
}

void CheckEscapes(std::string_view text) {
  base::Buffer escaped;
  AppendEscaped(text, &escaped);
  Require(escaped.size() == text.size() + EscapeCount(text), "escapes are counted");
  for (const char byte : escaped.view()) {
    Require(static_cast<unsigned char>(byte) >= kUnescapedMin || byte == kEscape,
            "no byte below 0x10 is left but the escape");
  }
  base::Arena arena;
  Require(Unescape(escaped.view(), arena) == text, "escaping is undone by unescaping");
  Require(Unescape(text, arena).size() <= text.size(), "unescaping makes nothing longer");
}

/// The lines of a group end where they end, however they come, and each is taken once.
void CheckGroup(std::string_view input, size_t piece_bytes, const model::Limits& limits) {
  const std::optional<size_t> count = ParseGroup(input.substr(0, input.find('\n')));
  if (!count) return;
  Require(*count >= 1 && *count <= model::kGroupRequestsMax, "a group has 1 to 64 lines");
  const std::optional<size_t> whole = GroupLines().End(input, 0, *count);
  GroupLines lines;
  std::optional<size_t> in_pieces;
  for (size_t size = 0; size < input.size() && !in_pieces;) {
    size = std::min(size + piece_bytes, input.size());
    in_pieces = lines.End(input.substr(0, size), 0, *count);
  }
  Require(in_pieces == whole, "the end of a group does not depend on how it was received");
  if (!whole) return;
  std::string_view rest = input.substr(0, *whole);
  for (size_t i = 0; i < *count; ++i) {
    base::Arena arena;
    const GroupRequest request = NextGroupRequest(&rest, limits, arena);
    const bool is_request = request.command.kind == Command::Kind::kRequest;
    Require(is_request || !request.command.errors.empty(), "what is no request is an error");
  }
  Require(rest.empty(), "a group's lines are taken one by one");
}

void Run(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  const model::Limits limits = ChooseLimits(choice);
  const std::vector<std::string> lines = Lines(input, input.size(), limits.line_bytes_max);
  Require(Lines(input, 1 + choice / 2, limits.line_bytes_max) == lines,
          "lines do not depend on how they were received");
  for (const std::string& line : lines) CheckLine(line, limits);
  CheckLine(input, limits);
  CheckEscapes(input);
  CheckGroup(input, 1 + choice / 2, limits);
}

}  // namespace
}  // namespace rowsocket::handlersocket

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rowsocket::handlersocket::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
