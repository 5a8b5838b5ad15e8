#include "protocol/memcached/text_reply.h"

#include "base/require.h"

namespace rowsocket::memcached {

namespace {

void AppendFlag(char letter, std::string_view argument, base::Buffer* out) {
  out->Append(' ');
  out->Append(letter);
  out->Append(argument);
}

template <typename T>
void AppendNumberFlag(char letter, T number, base::Buffer* out) {
  AppendFlag(letter, Digits(number).view(), out);
}

void AppendKeyFlag(const Command& command, base::Buffer* out) {
  AppendFlag('k', command.key_text, out);
  if (command.meta.key_is_base64) out->Append(" b");
}

uint64_t SizeOf(const Item& item) { return item.value.empty() ? item.size : item.value.size(); }

void AppendReturnedFlag(const Command& command, char letter, const Item& item, base::Buffer* out) {
  switch (letter) {
    case 'c':
      return AppendNumberFlag('c', item.cas, out);
    case 'f':
      return AppendNumberFlag('f', item.client_flags, out);
    case 'h':
      return AppendFlag('h', item.was_fetched ? "1" : "0", out);
    case 'l':
      return AppendNumberFlag('l', item.last_access_s, out);
    case 's':
      return AppendNumberFlag('s', SizeOf(item), out);
    case 't':
      return AppendNumberFlag('t', item.ttl_s, out);
    case 'O':
      return AppendFlag('O', command.meta.opaque, out);
    case 'k':
      return AppendKeyFlag(command, out);
    default:
      ROWSOCKET_REQUIRE(!"a flag of MetaFlags::returns has no answer");
  }
}

void AppendFlags(const Command& command, Returned returned, const Item& item, base::Buffer* out) {
  for (const char letter : command.meta.returns) {
    const bool always = letter == 'k' || letter == 'O';
    if (always || returned == Returned::kAll) AppendReturnedFlag(command, letter, item, out);
  }
}

/// Appends the marks that say who renews the item, in memcached's order.
void AppendMarks(const Item& item, base::Buffer* out) {
  if (item.won_by_other) out->Append(" Z");
  if (item.stale) out->Append(" X");
  if (item.won) out->Append(" W");
}

}  // namespace

void AppendTextHit(const Command& command, std::string_view key, const Item& item,
                   base::Buffer* out) {
  // The longest line without its key and value, so that the pieces below find room.
  constexpr size_t kLineBytesMax = 64;
  out->Room(kLineBytesMax + key.size() + item.value.size());
  out->Append("VALUE ");
  out->Append(key);
  out->Append(' ');
  AppendNumberText(item.client_flags, out);
  out->Append(' ');
  AppendNumberText(item.value.size(), out);
  if (command.returns_cas) {
    out->Append(' ');
    AppendNumberText(item.cas, out);
  }
  out->Append(kLineEnd);
  AppendLine(item.value, out);
}

void AppendMetaLine(const Command& command, std::string_view status, Returned returned,
                    const Item& item, base::Buffer* out) {
  out->Append(status);
  AppendFlags(command, returned, item, out);
  out->Append(kLineEnd);
}

void AppendMetaHit(const Command& command, const Item& item, base::Buffer* out) {
  const bool is_get = command.verb == Verb::kGet || command.verb == Verb::kGat;
  const bool client_has_it = is_get && command.compares_cas && command.cas == item.cas;
  const bool returns_value = command.returns_value && !client_has_it;
  if (returns_value) {
    out->Append("VA ");
    AppendNumberText(item.value.size(), out);
  } else {
    out->Append("HD");
  }
  AppendFlags(command, Returned::kAll, item, out);
  if (is_get) AppendMarks(item, out);
  out->Append(kLineEnd);
  if (returns_value) AppendLine(item.value, out);
}

}  // namespace rowsocket::memcached
