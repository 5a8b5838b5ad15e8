#include "protocol/memcached/encoder.h"

#include <algorithm>

#include "base/printable.h"
#include "model/limits.h"
#include "protocol/memcached/binary_reply.h"
#include "protocol/memcached/text_reply.h"

namespace rowsocket::memcached {

namespace {

/// Answers a change that was not made; in meta and binary even if the command is quiet.
void AppendRefusal(const Command& command, std::string_view text, std::string_view meta_status,
                   BinaryStatus binary_status, base::Buffer* out) {
  switch (command.dialect) {
    case Dialect::kText:
      if (!command.quiet) AppendLine(text, out);
      return;
    case Dialect::kMeta: {
      // ms answers all its flags even so: the cas is 0, the size is that of the value sent.
      Item sent;
      sent.value = command.value;
      return AppendMetaLine(command, meta_status,
                            HasValue(command.verb) ? Returned::kAll : Returned::kKeyAndOpaque, sent,
                            out);
    }
    case Dialect::kBinary:
      return AppendBinaryStatus(command, binary_status, out);
  }
}

/// The binary status of an item that was not stored: add found an item, replace found none.
BinaryStatus NotStoredStatus(Verb verb) {
  if (verb == Verb::kAdd) return BinaryStatus::kExists;
  if (verb == Verb::kReplace) return BinaryStatus::kNotFound;
  return BinaryStatus::kNotStored;
}

/// Answers a change that was made: with a line of text, or in binary with only the cas.
void AppendSuccess(const Command& command, std::string_view text, uint64_t cas, base::Buffer* out) {
  if (command.quiet) return;
  if (command.dialect != Dialect::kBinary) return AppendLine(text, out);
  BinaryReply reply;
  reply.cas = cas;
  AppendBinary(command, reply, out);
}

}  // namespace

void AppendHit(const Command& command, std::string_view key, const Item& item, base::Buffer* out) {
  if (command.dialect == Dialect::kText) return AppendTextHit(command, key, item, out);
  if (command.dialect == Dialect::kMeta) return AppendMetaHit(command, item, out);
  BinaryReply reply;
  reply.cas = item.cas;
  if (command.returns_key) reply.key = key;
  reply.value = item.value;
  AppendBinaryItem(command, item.client_flags, reply, out);
}

void AppendMiss(const Command& command, std::string_view key, base::Buffer* out) {
  if (command.dialect == Dialect::kText || command.quiet) return;
  if (command.dialect == Dialect::kMeta) {
    return AppendMetaLine(command, "EN", Returned::kKeyAndOpaque, Item(), out);
  }
  if (!command.returns_key) return AppendBinaryStatus(command, BinaryStatus::kNotFound, out);
  BinaryReply reply;
  reply.status = BinaryStatus::kNotFound;
  reply.key = key;
  AppendBinary(command, reply, out);
}

void AppendGetEnd(const Command& command, base::Buffer* out) {
  if (command.dialect == Dialect::kText) AppendLine("END", out);
}

void AppendStored(const Command& command, const Item& item, base::Buffer* out) {
  if (command.dialect != Dialect::kMeta) return AppendSuccess(command, "STORED", item.cas, out);
  if (!command.quiet) AppendMetaLine(command, "HD", Returned::kAll, item, out);
}

void AppendNotStored(const Command& command, base::Buffer* out) {
  AppendRefusal(command, "NOT_STORED", "NS", NotStoredStatus(command.verb), out);
}

void AppendExists(const Command& command, base::Buffer* out) {
  AppendRefusal(command, "EXISTS", "EX", BinaryStatus::kExists, out);
}

void AppendNotFound(const Command& command, base::Buffer* out) {
  AppendRefusal(command, "NOT_FOUND", "NF", BinaryStatus::kNotFound, out);
}

void AppendDeleted(const Command& command, base::Buffer* out) {
  if (command.dialect != Dialect::kMeta) return AppendSuccess(command, "DELETED", 0, out);
  if (!command.quiet) AppendMetaLine(command, "HD", Returned::kKeyAndOpaque, Item(), out);
}

void AppendTouched(const Command& command, const Item& item, base::Buffer* out) {
  if (command.dialect != Dialect::kBinary) return AppendSuccess(command, "TOUCHED", 0, out);
  BinaryReply reply;
  reply.cas = item.cas;
  AppendBinaryItem(command, item.client_flags, reply, out);
}

void AppendNumber(const Command& command, uint64_t number, const Item& item, base::Buffer* out) {
  if (command.quiet) return;
  if (command.dialect == Dialect::kBinary) {
    return AppendBinaryNumber(command, number, item.cas, out);
  }
  const Digits digits(number);
  if (command.dialect == Dialect::kText) return AppendLine(digits.view(), out);
  Item with_value = item;
  with_value.value = digits.view();
  AppendMetaHit(command, with_value, out);
}

void AppendOk(const Command& command, base::Buffer* out) {
  AppendSuccess(command, command.verb == Verb::kNoop ? "MN" : "OK", 0, out);
}

void AppendVersion(const Command& command, std::string_view version, base::Buffer* out) {
  if (command.dialect == Dialect::kBinary) {
    BinaryReply reply;
    reply.value = version;
    return AppendBinary(command, reply, out);
  }
  out->Append("VERSION ");
  AppendLine(version, out);
}

void AppendStat(const Command& command, std::string_view name, std::string_view value,
                base::Buffer* out) {
  if (command.dialect == Dialect::kBinary) {
    BinaryReply reply;
    reply.key = name;
    reply.value = value;
    return AppendBinary(command, reply, out);
  }
  out->Append("STAT ");
  out->Append(base::Printable(name));
  out->Append(' ');
  AppendLine(base::Printable(value), out);
}

void AppendStat(const Command& command, std::string_view name, uint64_t value, base::Buffer* out) {
  AppendStat(command, name, Digits(value).view(), out);
}

void AppendStatsEnd(const Command& command, base::Buffer* out) {
  AppendSuccess(command, "END", 0, out);
}

void AppendReset(const Command& command, base::Buffer* out) {
  AppendSuccess(command, "RESET", 0, out);
}

void AppendMetaDebug(const Command& command, std::string_view details, base::Buffer* out) {
  out->Append("ME ");
  out->Append(command.key_text);
  out->Append(' ');
  AppendLine(details, out);
}

void AppendError(const Command& command, Error error, base::Buffer* out) {
  if (command.dialect == Dialect::kBinary) {
    return AppendBinaryStatus(command, StatusOf(error), out);
  }
  // A quiet meta command is silent about its success, never about its errors.
  if (command.dialect == Dialect::kText && command.quiet) return;
  AppendLine(TextOf(error), out);
}

void AppendServerError(const Command& command, BinaryStatus status, std::string_view why,
                       base::Buffer* out) {
  why = why.substr(0, std::min(why.find_first_of("\r\n"), model::kMemcachedErrorBytesMax));
  if (command.dialect == Dialect::kBinary) {
    BinaryReply reply;
    reply.status = status;
    reply.value = why;
    return AppendBinary(command, reply, out);
  }
  if (command.dialect == Dialect::kText && command.quiet) return;
  out->Append("SERVER_ERROR ");
  AppendLine(why, out);
}

}  // namespace rowsocket::memcached
