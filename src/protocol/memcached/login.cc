#include "protocol/memcached/login.h"

#include <algorithm>

#include "model/limits.h"
#include "protocol/memcached/binary.h"
#include "protocol/memcached/binary_reply.h"
#include "protocol/memcached/command_line.h"
#include "protocol/memcached/numbers.h"
#include "protocol/memcached/text_reply.h"

namespace rowsocket::memcached {

namespace {

constexpr std::string_view kMechanism = "PLAIN";
constexpr size_t kMechanismBytesMax = 32;  // As in memcached.
constexpr size_t kBodyBytesMax = model::kMemcachedLineBytesMax;
/// `set`, key, flags, exptime, bytes.
constexpr size_t kSetWords = 5;
constexpr size_t kBytesWord = 4;

enum class SaslOpcode : uint8_t { kList = 0x20, kStart = 0x21, kStep = 0x22 };

LoginStep Refuse(Error error, bool closes, size_t consumed, Command* command) {
  command->error = error;
  command->closes = closes;
  return {LoginStep::Result::kReply, consumed, {}, {}};
}

/// The bytes are not memcached's protocol: the connection ends without an answer.
LoginStep Close(size_t consumed, Command* command) {
  command->verb = Verb::kQuit;
  command->quiet = true;
  command->closes = true;
  return {LoginStep::Result::kReply, consumed, {}, {}};
}

LoginStep NextTextLogin(std::string_view input, Command* command) {
  const size_t line_size = input.find('\n');
  if (line_size > model::kMemcachedLineBytesMax) {
    const bool is_too_long = input.size() > model::kMemcachedLineBytesMax;
    return is_too_long ? Close(input.size(), command) : LoginStep();
  }
  std::string_view line = input.substr(0, line_size);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const FirstWords words(line);
  uint64_t bytes = 0;
  if (words.count < kSetWords || words[0] != "set" || !ParseUnsigned(words[kBytesWord], &bytes)) {
    // The body of a browser's request must not log in.
    if (words.count > 1 && words.last.starts_with("HTTP/")) return Close(input.size(), command);
    return Refuse(Error::kUnauthenticated, false, line_size + 1, command);
  }
  if (bytes > kBodyBytesMax) return Refuse(Error::kTooLarge, true, input.size(), command);
  const size_t data_begin = line_size + 1;
  const size_t end = data_begin + static_cast<size_t>(bytes) + kLineEnd.size();
  if (input.size() < end) return {};
  if (!input.substr(0, end).ends_with(kLineEnd))
    return Refuse(Error::kBadLoginEnd, false, end, command);
  std::string_view data = input.substr(data_begin, static_cast<size_t>(bytes));
  data.remove_prefix(std::min(data.find_first_not_of(' '), data.size()));
  const size_t user_size = data.find(' ');
  // Everything after the blank is the password, which may have blanks itself.
  if (user_size == std::string_view::npos || user_size + 1 == data.size())
    return Refuse(Error::kBadLogin, false, end, command);
  return {LoginStep::Result::kCredentials, end, data.substr(0, user_size),
          data.substr(user_size + 1)};
}

/// Splits `[authorization identity] NUL user NUL password` (RFC 4616). The identity is empty or
/// the name of the user.
bool SplitPlain(std::string_view message, LoginStep* step) {
  const size_t user_at = message.find('\0');
  if (user_at == std::string_view::npos) return false;
  const std::string_view acts_for = message.substr(0, user_at);
  message.remove_prefix(user_at + 1);
  const size_t user_size = message.find('\0');
  if (user_size == std::string_view::npos) return false;
  step->user = message.substr(0, user_size);
  step->password = message.substr(user_size + 1);
  return acts_for.empty() || acts_for == step->user;
}

LoginStep NextBinaryLogin(std::string_view input, Command* command) {
  command->dialect = Dialect::kBinary;
  if (input.size() < kHeaderBytes) return {};
  const BinaryHeader header = ParseHeader(input);
  command->opcode = header.opcode;
  command->opaque = header.opaque;
  const size_t front_bytes = size_t{header.extras_bytes} + header.key_bytes;
  const bool is_version = header.opcode == static_cast<uint8_t>(Opcode::kVersion);
  const bool is_known = is_version || IsSasl(input);
  if (!is_known || front_bytes > header.body_bytes || header.body_bytes > kBodyBytesMax)
    return Refuse(Error::kAuthFailure, true, input.size(), command);
  const size_t end = kHeaderBytes + header.body_bytes;
  if (input.size() < end) return {};
  if (is_version) {
    command->verb = Verb::kVersion;
    return {LoginStep::Result::kReply, end, {}, {}};
  }
  if (header.key_bytes > kMechanismBytesMax)
    return Refuse(Error::kBadArguments, false, end, command);
  const auto opcode = static_cast<SaslOpcode>(header.opcode);
  if (opcode == SaslOpcode::kList) return {LoginStep::Result::kMechanisms, end, {}, {}};
  const std::string_view body = input.substr(kHeaderBytes, header.body_bytes);
  LoginStep step{LoginStep::Result::kCredentials, end, {}, {}};
  const bool is_plain = opcode == SaslOpcode::kStart &&
                        body.substr(header.extras_bytes, header.key_bytes) == kMechanism;
  if (!is_plain || !SplitPlain(body.substr(front_bytes), &step))
    return Refuse(Error::kAuthFailure, false, end, command);
  return step;
}

}  // namespace

LoginStep NextLogin(std::string_view input, Command* command) {
  *command = Command();
  if (input.empty()) return {};
  return input.front() == kRequestMagic ? NextBinaryLogin(input, command)
                                        : NextTextLogin(input, command);
}

size_t LoginBytesMax() {
  return model::kMemcachedLineBytesMax + 1 + kBodyBytesMax + kLineEnd.size();
}

bool IsSasl(std::string_view input) {
  constexpr size_t kOpcodeAt = 1;
  if (input.size() <= kOpcodeAt || input.front() != kRequestMagic) return false;
  const auto opcode = static_cast<uint8_t>(input[kOpcodeAt]);
  return opcode >= static_cast<uint8_t>(SaslOpcode::kList) &&
         opcode <= static_cast<uint8_t>(SaslOpcode::kStep);
}

void AppendMechanisms(const Command& command, base::Buffer* out) {
  BinaryReply reply;
  reply.value = kMechanism;
  AppendBinary(command, reply, out);
}

void AppendLoggedIn(const Command& command, base::Buffer* out) {
  if (command.dialect != Dialect::kBinary) return AppendLine("STORED", out);
  BinaryReply reply;
  reply.value = "Authenticated";
  AppendBinary(command, reply, out);
}

}  // namespace rowsocket::memcached
