#include "protocol/memcached/parser.h"

#include <algorithm>
#include <cstring>

#include "protocol/memcached/binary.h"
#include "protocol/memcached/command_line.h"

namespace rowsocket::memcached {

namespace {

constexpr size_t kDataEndBytes = 2;  ///< CR LF after a data block.

/// Closes the connection without an answer.
Step Malformed(size_t input_bytes, Command* command) {
  *command = Command();
  command->verb = Verb::kQuit;
  command->quiet = true;
  command->closes = true;
  return {ParseResult::kMalformed, input_bytes};
}

Step LineTooLong(size_t input_bytes, Command* command) {
  *command = Command();
  command->error = Error::kLineTooLong;
  command->closes = true;
  return {ParseResult::kCommand, input_bytes};
}

/// Whether more than kMemcachedLineBytesMax bytes may come before the line ends.
bool MayBeLong(std::string_view line) {
  constexpr size_t kBlanksMax = 100;
  const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  if (blanks > kBlanksMax) return false;
  line.remove_prefix(blanks);
  return line.starts_with("get ") || line.starts_with("gets ");
}

}  // namespace

Step Parser::Next(std::string_view input, const model::Limits& limits, base::Arena& arena,
                  Command* command) {
  if (input.empty()) return {};
  swallows_before_ = state_.swallows;
  if (state_.swallows != 0) {
    const auto swallowed = static_cast<size_t>(std::min<uint64_t>(state_.swallows, input.size()));
    state_.swallows -= swallowed;
    swallows_before_ = state_.swallows;  // Bytes that were thrown away do not come again.
    return {swallowed == input.size() ? ParseResult::kNeedMore : ParseResult::kSkipped, swallowed};
  }
  if (input.size() < state_.needs_bytes) return {};
  if (state_.chosen == Chosen::kNotYet) {
    state_.chosen = input.front() == kRequestMagic ? Chosen::kBinary : Chosen::kText;
  }
  const Step step = is_binary() ? NextBinary(input, limits, arena, command)
                                : NextText(input, limits, arena, command);
  if (step.result != ParseResult::kNeedMore) state_.scanned = state_.needs_bytes = 0;
  return step;
}

Step Parser::NextText(std::string_view input, const model::Limits& limits, base::Arena& arena,
                      Command* command) {
  const void* const found =
      std::memchr(input.data() + state_.scanned, '\n', input.size() - state_.scanned);
  if (found == nullptr) return NextWithoutLine(input, command);
  const auto line_size = static_cast<size_t>(static_cast<const char*>(found) - input.data());
  if (line_size > model::kMemcachedLongLineBytesMax) return LineTooLong(input.size(), command);
  std::string_view line = input.substr(0, line_size);
  if (line.ends_with('\r')) line.remove_suffix(1);
  DataBlock data;
  if (!ParseLine(line, arena, command, &data)) return Malformed(input.size(), command);
  if (command->closes) return {ParseResult::kCommand, input.size()};
  const size_t line_bytes = line_size + 1;
  if (!data.follows) return {ParseResult::kCommand, line_bytes};
  if (command->error == Error::kNone && data.bytes > limits.item_bytes_max) {
    command->error = Error::kTooLarge;
  }
  if (command->error != Error::kNone) {
    return Swallow(line_bytes, data.bytes + kDataEndBytes, input);
  }
  const auto value_bytes = static_cast<size_t>(data.bytes);
  const size_t command_bytes = line_bytes + value_bytes + kDataEndBytes;
  if (input.size() < command_bytes) {
    state_.scanned = line_size;
    state_.needs_bytes = command_bytes;
    return {};
  }
  command->value = input.substr(line_bytes, value_bytes);
  if (input.substr(line_bytes + value_bytes, kDataEndBytes) != "\r\n") {
    command->error = Error::kBadDataChunk;
  }
  return {ParseResult::kCommand, command_bytes};
}

Step Parser::NextWithoutLine(std::string_view input, Command* command) {
  state_.scanned = input.size();
  if (input.size() <= model::kMemcachedLineBytesMax) return {};
  if (!MayBeLong(input)) return Malformed(input.size(), command);
  if (input.size() > model::kMemcachedLongLineBytesMax) return LineTooLong(input.size(), command);
  return {};
}

Step Parser::NextBinary(std::string_view input, const model::Limits& limits, base::Arena& arena,
                        Command* command) {
  if (input.front() != kRequestMagic) return Malformed(input.size(), command);
  if (input.size() < kHeaderBytes) return {};
  const BinaryHeader header = ParseHeader(input);
  if (!StartBinary(header, limits, command)) {
    if (command->closes) return {ParseResult::kCommand, input.size()};
    const bool needs_key = command->error == Error::kTooLarge && command->verb == Verb::kSet;
    return needs_key ? TakeKeyOfTooLarge(header, input, arena, command)
                     : Swallow(kHeaderBytes, header.body_bytes, input);
  }
  const size_t command_bytes = kHeaderBytes + header.body_bytes;
  if (input.size() < command_bytes) {
    state_.needs_bytes = command_bytes;
    return {};
  }
  FinishBinary(header, input.substr(kHeaderBytes, header.body_bytes), arena, command);
  return {ParseResult::kCommand, command->closes ? input.size() : command_bytes};
}

Step Parser::Swallow(size_t front_bytes, uint64_t bytes, std::string_view input) {
  const auto swallowed = static_cast<size_t>(std::min<uint64_t>(bytes, input.size() - front_bytes));
  state_.swallows = bytes - swallowed;
  return {ParseResult::kCommand, front_bytes + swallowed};
}

// A set that is too large removes the stored item, so its key is needed, but not its value.
Step Parser::TakeKeyOfTooLarge(const BinaryHeader& header, std::string_view input,
                               base::Arena& arena, Command* command) {
  const size_t front_bytes = size_t{header.extras_bytes} + header.key_bytes;
  if (input.size() < kHeaderBytes + front_bytes) {
    state_.needs_bytes = kHeaderBytes + front_bytes;
    return {};
  }
  const std::span<std::string_view> keys = arena.Allocate<std::string_view>(1);
  keys[0] = input.substr(kHeaderBytes + header.extras_bytes, header.key_bytes);
  command->keys = keys;
  return Swallow(kHeaderBytes + front_bytes, header.body_bytes - front_bytes, input);
}

size_t InputBytesMax(const model::Limits& limits) {
  return model::kMemcachedLongLineBytesMax + 1 + limits.item_bytes_max + kDataEndBytes;
}

}  // namespace rowsocket::memcached
