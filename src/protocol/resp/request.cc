#include "protocol/resp/request.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/secret_text.h"
#include "model/limits.h"

namespace rowsocket::resp {

namespace {

using Result = RequestStep::Result;

RequestStep Fail(std::string_view error) { return {Result::kError, 0, {}, error}; }

/// `expected '$', got 'G'`.
RequestStep FailAt(char got, base::Arena& arena) {
  constexpr std::string_view kFront = "expected '$', got '";
  char* const text = arena.AllocateBytes(kFront.size() + 2);
  kFront.copy(text, kFront.size());
  text[kFront.size()] = got == '\r' || got == '\n' ? ' ' : got < ' ' ? '.' : got;
  text[kFront.size() + 1] = '\'';
  return Fail({text, kFront.size() + 2});
}

enum class Read : uint8_t { kNumber, kNeedMore, kTooLong, kWrong };

/// Whether a number begins with zeros, which Redis does not accept as a number.
bool IsPadded(std::string_view digits) { return digits.size() > 1 && digits.front() == '0'; }

/// Reads the number of a line `*3` or `$5`, without its first byte. `*size`: the bytes of the
/// number and the line's end.
Read ReadNumber(std::string_view input, int64_t* number, size_t* size) {
  // The usual line: few digits, and all of it has come.
  constexpr size_t kDigitsMax = 9;
  size_t digits = 0;
  int64_t value = 0;
  for (; digits < std::min(input.size(), kDigitsMax); ++digits) {
    const auto digit = static_cast<unsigned char>(input[digits] - '0');
    if (digit > 9) break;
    value = value * 10 + digit;
  }
  if (digits != 0 && digits + 2 <= input.size() && input[digits] == '\r') {
    *number = value;
    *size = digits + 2;
    return IsPadded(input.substr(0, digits)) ? Read::kWrong : Read::kNumber;
  }
  const size_t end = input.find('\r');
  if (end == std::string_view::npos) {
    return input.size() > model::kRespCountBytesMax ? Read::kTooLong : Read::kNeedMore;
  }
  if (input.size() < end + 2) return Read::kNeedMore;
  const auto parsed = std::from_chars(input.data(), input.data() + end, *number);
  *size = end + 2;
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == input.data() + end &&
                         !IsPadded(input.substr(0, end));
  return is_number ? Read::kNumber : Read::kWrong;
}

int HexOf(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

bool IsBlank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == '\0'; }

/// Takes one quoted or plain argument of an inline command, and writes it at `*end`, which comes to
/// stand after it. An argument takes no more bytes than the client has sent for it. False: its
/// quotes are unbalanced.
bool TakeInline(std::string_view* line, char** end) {
  const auto put = [end](char byte) { *(*end)++ = byte; };
  char quote = '\0';
  for (; !line->empty(); line->remove_prefix(1)) {
    const char byte = line->front();
    if (quote == '\0') {
      if (IsBlank(byte)) return true;
      if (byte == '"' || byte == '\'')
        quote = byte;
      else
        put(byte);
      continue;
    }
    if (byte == quote) {
      line->remove_prefix(1);
      return line->empty() || IsBlank(line->front());
    }
    const bool is_hex = quote == '"' && line->size() > 3 && line->substr(0, 2) == "\\x" &&
                        HexOf((*line)[2]) >= 0 && HexOf((*line)[3]) >= 0;
    if (is_hex) {
      put(static_cast<char>(HexOf((*line)[2]) * 16 + HexOf((*line)[3])));
      line->remove_prefix(3);
    } else if (byte == '\\' && line->size() > 1 && (quote == '"' || (*line)[1] == '\'')) {
      constexpr std::string_view kFrom = "nrtba", kTo = "\n\r\t\b\a";
      line->remove_prefix(1);
      const size_t at = kFrom.find(line->front());
      put(at == std::string_view::npos ? line->front() : kTo[at]);
    } else {
      put(byte);
    }
  }
  return quote == '\0';
}

/// `word`: in lower case.
bool BeginsWith(std::string_view line, std::string_view word) {
  return line.size() >= word.size() &&
         std::equal(word.begin(), word.end(), line.begin(), [](char small, char byte) {
           return small == (byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
         });
}

RequestStep NextInline(std::string_view input, const RequestLimits& limits, base::Arena& arena) {
  const size_t end = input.find('\n');
  if (end == std::string_view::npos) {
    return input.size() > model::kRespInlineBytesMax ? Fail("too big inline request")
                                                     : RequestStep();
  }
  if (end > model::kRespInlineBytesMax) return Fail("too big inline request");
  std::string_view line = input.substr(0, end);
  // Any web page can make a browser send a POST here.
  if (BeginsWith(line, "post ") || BeginsWith(line, "host:")) {
    return {Result::kHttp, input.size(), {}, {}};
  }
  std::vector<std::string_view> taken;
  // The arguments are written where they stay, so that no other copy of a password is left.
  char* const copies = arena.AllocateBytes(line.size());
  char* copied = copies;
  const auto fail = [&](std::string_view error) {
    base::Wipe({copies, static_cast<size_t>(copied - copies)});
    return Fail(error);
  };
  for (;;) {
    while (!line.empty() && IsBlank(line.front())) line.remove_prefix(1);
    if (line.empty()) break;
    const char* const begin = copied;
    if (!TakeInline(&line, &copied)) return fail("unbalanced quotes in request");
    if (taken.size() == limits.arguments_max) return fail("too big inline request");
    taken.emplace_back(begin, static_cast<size_t>(copied - begin));
  }
  if (taken.empty()) return {Result::kNothing, end + 1, {}, {}};
  const std::span<std::string_view> arguments = arena.Allocate<std::string_view>(taken.size());
  std::copy(taken.begin(), taken.end(), arguments.begin());
  return {Result::kRequest, end + 1, arguments, {}};
}

/// A request with more arguments is read to its end before room is made for its arguments.
constexpr size_t kFewArguments = 256;

/// Takes the remaining ones of `count` arguments off the input, and counts them in `*come`.
/// `arguments`: where they go; null: they are only counted.
RequestStep TakeArguments(std::string_view input, const RequestLimits& limits, size_t count,
                          base::Arena& arena, RequestProgress* come, std::string_view* arguments) {
  for (; come->arguments < count; ++come->arguments) {
    size_t at = come->at;
    if (at == input.size()) return {};
    if (input[at] != '$') return FailAt(input[at], arena);
    int64_t length = 0;
    size_t size = 0;
    switch (ReadNumber(input.substr(at + 1), &length, &size)) {
      case Read::kNeedMore:
        return {};
      case Read::kTooLong:
        return Fail("too big bulk count string");
      case Read::kWrong:
        return Fail("invalid bulk length");
      case Read::kNumber:
        break;
    }
    at += 1 + size;
    if (length < 0 || static_cast<uint64_t>(length) > limits.bytes_max) {
      return Fail(limits.is_in || length < 0 ? "invalid bulk length"
                                             : "unauthenticated bulk length");
    }
    const auto bytes = static_cast<size_t>(length);
    if (at + bytes > limits.bytes_max + limits.beside_bytes_max) return Fail("invalid bulk length");
    if (input.size() < at + bytes + 2) return {};
    if (input[at + bytes] != '\r' || input[at + bytes + 1] != '\n') {
      return Fail("expected CR LF after a bulk string");
    }
    if (arguments != nullptr) arguments[come->arguments] = input.substr(at, bytes);
    come->at = at + bytes + 2;
  }
  return {Result::kRequest, come->at, {}, {}};
}

}  // namespace

// Room for many arguments is made only when they have come: otherwise a few bytes would take much
// memory.
RequestStep NextRequest(std::string_view input, const RequestLimits& limits, base::Arena& arena,
                        RequestProgress* progress) {
  if (input.empty()) return {};
  if (input.front() != '*') return NextInline(input, limits, arena);
  int64_t count = 0;
  size_t size = 0;
  switch (ReadNumber(input.substr(1), &count, &size)) {
    case Read::kNeedMore:
      return {};
    case Read::kTooLong:
      return Fail("too big mbulk count string");
    case Read::kWrong:
      return Fail("invalid multibulk length");
    case Read::kNumber:
      break;
  }
  const size_t at = 1 + size;
  if (count <= 0) return {Result::kNothing, at, {}, {}};
  if (static_cast<uint64_t>(count) > limits.arguments_max) {
    return Fail(limits.is_in ? "invalid multibulk length" : "unauthenticated multibulk length");
  }
  if (at == input.size()) return {};
  const auto words = static_cast<size_t>(count);
  RequestProgress all{0, at};  // Takes all arguments from the first on.
  if (words > kFewArguments) {
    RequestProgress unnoted;
    if (progress == nullptr) progress = &unnoted;
    if (progress->at == 0) *progress = all;
    const RequestStep read = TakeArguments(input, limits, words, arena, progress, nullptr);
    if (read.result != Result::kRequest) return read;
  }
  const std::span<std::string_view> arguments = arena.Allocate<std::string_view>(words);
  RequestStep step = TakeArguments(input, limits, words, arena, &all, arguments.data());
  if (step.result == Result::kRequest) step.arguments = arguments;
  return step;
}

void WipeCopies(std::string_view request, std::span<const std::string_view> arguments) {
  if (request.front() == '*') return;
  for (const std::string_view argument : arguments) base::Wipe(argument);
}

void RequestPattern::Note(std::string_view request, std::span<const std::string_view> arguments) {
  head_.clear();
  rest_.clear();
  if (request.front() != '*' || arguments.size() < 2) return;
  const std::string_view key = arguments[1];
  if (request.size() - key.size() > model::kRespRepeatedBytesMax) return;
  const auto place = [&](std::string_view argument) {
    return static_cast<size_t>(argument.data() - request.data());
  };
  size_t at = place(key) - 2;
  while (request[at - 1] >= '0' && request[at - 1] <= '9') --at;
  if (request[at - 1] != '$') return;
  const size_t end = place(key) + key.size();
  name_ = {place(arguments[0]), arguments[0].size()};
  for (const std::string_view argument : arguments.subspan(2)) {
    rest_.push_back({place(argument) - end, argument.size()});
  }
  tail_ = request.substr(end);
  head_ = request.substr(0, at);
}

bool RequestPattern::Take(std::string_view input, const RequestLimits& limits, base::Arena& arena,
                          RequestStep* step) const {
  if (head_.empty() || !input.starts_with(head_)) return false;
  int64_t length = 0;
  size_t size = 0;
  if (ReadNumber(input.substr(head_.size()), &length, &size) != Read::kNumber) return false;
  if (length < 0 || static_cast<uint64_t>(length) > limits.bytes_max) return false;
  const size_t key_at = head_.size() + size;
  const size_t end = key_at + static_cast<size_t>(length);
  const size_t whole = end + tail_.size();
  const size_t count = 2 + rest_.size();
  if (whole > input.size() || whole > limits.bytes_max || count > limits.arguments_max) {
    return false;
  }
  if (input.substr(end, tail_.size()) != tail_) return false;
  const std::span<std::string_view> arguments = arena.Allocate<std::string_view>(count);
  arguments[0] = input.substr(name_.at, name_.size);
  arguments[1] = input.substr(key_at, end - key_at);
  for (size_t i = 0; i < rest_.size(); ++i) {
    arguments[2 + i] = input.substr(end + rest_[i].at, rest_[i].size);
  }
  *step = {RequestStep::Result::kRequest, whole, arguments, {}};
  return true;
}

}  // namespace rowsocket::resp
