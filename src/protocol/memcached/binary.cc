#include "protocol/memcached/binary.h"

#include "base/require.h"
#include "model/client_name.h"
#include "protocol/memcached/numbers.h"

namespace rowsocket::memcached {

namespace {

enum class Has : uint8_t { kNo, kMaybe, kYes };

/// The meaning of an opcode, and the parts of its request.
struct OpcodeParts {
  Opcode opcode;
  Verb verb;
  uint8_t extras_bytes;
  Has key;
  bool has_value = false;
  bool quiet = false;
  bool returns_key = false;
};

constexpr uint8_t kStoreExtras = 8;        ///< Client flags, exptime.
constexpr uint8_t kArithmeticExtras = 20;  ///< Delta, initial, exptime.
constexpr uint8_t kExptimeExtras = 4;

constexpr OpcodeParts kOpcodes[] = {
    {Opcode::kGet, Verb::kGet, 0, Has::kYes},
    {Opcode::kGetQ, Verb::kGet, 0, Has::kYes, false, true},
    {Opcode::kGetK, Verb::kGet, 0, Has::kYes, false, false, true},
    {Opcode::kGetKQ, Verb::kGet, 0, Has::kYes, false, true, true},
    {Opcode::kSet, Verb::kSet, kStoreExtras, Has::kYes, true},
    {Opcode::kSetQ, Verb::kSet, kStoreExtras, Has::kYes, true, true},
    {Opcode::kAdd, Verb::kAdd, kStoreExtras, Has::kYes, true},
    {Opcode::kAddQ, Verb::kAdd, kStoreExtras, Has::kYes, true, true},
    {Opcode::kReplace, Verb::kReplace, kStoreExtras, Has::kYes, true},
    {Opcode::kReplaceQ, Verb::kReplace, kStoreExtras, Has::kYes, true, true},
    {Opcode::kAppend, Verb::kAppend, 0, Has::kYes, true},
    {Opcode::kAppendQ, Verb::kAppend, 0, Has::kYes, true, true},
    {Opcode::kPrepend, Verb::kPrepend, 0, Has::kYes, true},
    {Opcode::kPrependQ, Verb::kPrepend, 0, Has::kYes, true, true},
    {Opcode::kDelete, Verb::kDelete, 0, Has::kYes},
    {Opcode::kDeleteQ, Verb::kDelete, 0, Has::kYes, false, true},
    {Opcode::kIncrement, Verb::kIncrement, kArithmeticExtras, Has::kYes},
    {Opcode::kIncrementQ, Verb::kIncrement, kArithmeticExtras, Has::kYes, false, true},
    {Opcode::kDecrement, Verb::kDecrement, kArithmeticExtras, Has::kYes},
    {Opcode::kDecrementQ, Verb::kDecrement, kArithmeticExtras, Has::kYes, false, true},
    {Opcode::kTouch, Verb::kTouch, kExptimeExtras, Has::kYes},
    {Opcode::kGat, Verb::kGat, kExptimeExtras, Has::kYes},
    {Opcode::kGatQ, Verb::kGat, kExptimeExtras, Has::kYes, false, true},
    {Opcode::kGatK, Verb::kGat, kExptimeExtras, Has::kYes, false, false, true},
    {Opcode::kGatKQ, Verb::kGat, kExptimeExtras, Has::kYes, false, true, true},
    {Opcode::kFlush, Verb::kFlushAll, kExptimeExtras, Has::kNo},
    {Opcode::kFlushQ, Verb::kFlushAll, kExptimeExtras, Has::kNo, false, true},
    {Opcode::kNoop, Verb::kNoop, 0, Has::kNo},
    {Opcode::kVersion, Verb::kVersion, 0, Has::kNo},
    {Opcode::kStat, Verb::kStats, 0, Has::kMaybe},
    {Opcode::kHello, Verb::kClientName, 0, Has::kMaybe, true},
    {Opcode::kQuit, Verb::kQuit, 0, Has::kNo},
    {Opcode::kQuitQ, Verb::kQuit, 0, Has::kNo, false, true},
};

const OpcodeParts* PartsOf(uint8_t opcode) {
  for (const OpcodeParts& parts : kOpcodes) {
    if (static_cast<uint8_t>(parts.opcode) == opcode) return &parts;
  }
  return nullptr;
}

bool HasParts(const BinaryHeader& header, const OpcodeParts& parts, uint32_t value_bytes) {
  // A client may leave the delay of flush out.
  const bool extras_fit = header.extras_bytes == parts.extras_bytes ||
                          (parts.verb == Verb::kFlushAll && header.extras_bytes == 0);
  if (!extras_fit) return false;
  if (parts.key == Has::kNo && header.key_bytes != 0) return false;
  if (parts.key == Has::kYes && header.key_bytes == 0) return false;
  return parts.has_value || value_bytes == 0;
}

bool Fail(Error error, bool closes, Command* command) {
  command->error = error;
  command->closes = closes;
  return false;
}

/// A cas makes every storing command compare: there must be an item to compare with.
void SetCas(const BinaryHeader& header, Command* command) {
  if (header.cas == 0) return;
  command->cas = header.cas;
  const bool only_touches = command->verb == Verb::kGat || command->verb == Verb::kTouch;
  command->compares_cas = command->verb != Verb::kGet && !only_touches;
  if (command->verb == Verb::kAdd || command->verb == Verb::kReplace) command->verb = Verb::kSet;
}

void SetExtras(std::string_view extras, Command* command) {
  constexpr uint32_t kDoNotCreate = 0xffffffff;
  const char* const bytes = extras.data();
  if (extras.size() == kExptimeExtras) {
    command->exptime = LoadBigEndian<uint32_t>(bytes);
  } else if (extras.size() == kStoreExtras) {
    command->client_flags = LoadBigEndian<uint32_t>(bytes);
    command->exptime = LoadBigEndian<uint32_t>(bytes + 4);
  } else if (extras.size() == kArithmeticExtras) {
    command->delta = LoadBigEndian<uint64_t>(bytes);
    command->initial = LoadBigEndian<uint64_t>(bytes + 8);
    const auto exptime = LoadBigEndian<uint32_t>(bytes + 16);
    command->creates = exptime != kDoNotCreate;
    if (command->creates) command->create_exptime = exptime;
  }
}

}  // namespace

BinaryHeader ParseHeader(std::string_view bytes) {
  ROWSOCKET_REQUIRE(bytes.size() >= kHeaderBytes);
  const char* const from = bytes.data();
  BinaryHeader header;
  header.opcode = LoadBigEndian<uint8_t>(from + 1);
  header.key_bytes = LoadBigEndian<uint16_t>(from + 2);
  header.extras_bytes = LoadBigEndian<uint8_t>(from + 4);
  header.body_bytes = LoadBigEndian<uint32_t>(from + 8);
  header.opaque = LoadBigEndian<uint32_t>(from + 12);
  header.cas = LoadBigEndian<uint64_t>(from + 16);
  return header;
}

bool StartBinary(const BinaryHeader& header, const model::Limits& limits, Command* command) {
  *command = Command();
  command->dialect = Dialect::kBinary;
  command->opcode = header.opcode;
  command->opaque = header.opaque;
  const uint32_t front_bytes = uint32_t{header.key_bytes} + header.extras_bytes;
  if (front_bytes > header.body_bytes) return Fail(Error::kBadHeader, true, command);
  if (header.key_bytes > model::kMemcachedKeyBytesMax) {
    return Fail(Error::kBadArguments, true, command);
  }
  const OpcodeParts* const parts = PartsOf(header.opcode);
  if (parts == nullptr) return Fail(Error::kUnknownOpcode, false, command);
  const uint32_t value_bytes = header.body_bytes - front_bytes;
  if (!HasParts(header, *parts, value_bytes)) return Fail(Error::kBadArguments, true, command);
  command->verb = parts->verb;
  command->quiet = parts->quiet;
  command->returns_key = parts->returns_key;
  command->returns_value = parts->verb == Verb::kGet || parts->verb == Verb::kGat;
  command->returns_cas = true;
  command->closes = parts->verb == Verb::kQuit;
  if (value_bytes > limits.item_bytes_max) return Fail(Error::kTooLarge, false, command);
  return true;
}

void FinishBinary(const BinaryHeader& header, std::string_view body, base::Arena& arena,
                  Command* command) {
  ROWSOCKET_REQUIRE(body.size() == header.body_bytes &&
                    body.size() >= size_t{header.extras_bytes} + header.key_bytes);
  SetExtras(body.substr(0, header.extras_bytes), command);
  SetCas(header, command);
  const std::string_view key = body.substr(header.extras_bytes, header.key_bytes);
  command->value = body.substr(size_t{header.extras_bytes} + header.key_bytes);
  if (command->verb == Verb::kStats) {
    command->stats_arguments = key;
  } else if (command->verb == Verb::kClientName) {
    if (model::IsClientName(key))
      command->client_name = key;
    else
      command->error = Error::kBadArguments;
  } else if (!key.empty()) {
    const std::span<std::string_view> keys = arena.Allocate<std::string_view>(1);
    keys.front() = key;
    command->keys = keys;
  }
}

}  // namespace rowsocket::memcached
