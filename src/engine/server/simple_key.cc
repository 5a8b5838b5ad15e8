#include "engine/server/simple_key.h"

#include <cstring>

#include "engine/server/integer_bytes.h"

namespace rowsocket::engine::server {

namespace {

constexpr size_t kDigitsMax = 19;  // A number of this many digits fits 64 bits.
constexpr uint64_t kNotAscii = 0x8080808080808080;

bool ParseDigits(std::string_view text, uint64_t* number) {
  if (text.empty() || text.size() > kDigitsMax) return false;
  uint64_t value = 0;
  for (const char byte : text) {
    const unsigned digit = static_cast<unsigned char>(byte) - unsigned{'0'};
    if (digit > 9) return false;
    value = value * 10 + digit;
  }
  *number = value;
  return true;
}

bool IsAscii(std::string_view text) {
  const char* from = text.data();
  size_t left = text.size();
  uint64_t seen = 0;
  for (; left >= sizeof(seen); left -= sizeof(seen), from += sizeof(seen)) {
    uint64_t word;
    memcpy(&word, from, sizeof(word));
    seen |= word;
  }
  for (; left != 0; --left) seen |= static_cast<unsigned char>(*from++);
  return (seen & kNotAscii) == 0;
}

}  // namespace

void SimpleKey::Learn(const KEY& key) {
  parts_.clear();
  if (IsHash(key)) return;
  Part part;
  const KeyParts key_parts = UserKeyParts(key);
  for (uint i = 0; i < key_parts.count && LearnPart(key_parts.first[i], &part); ++i) {
    parts_.push_back(part);
  }
}

bool SimpleKey::LearnPart(const KEY_PART_INFO& key_part, Part* part) {
  const Field* field = key_part.field;
  *part = {};
  part->maybe_null = key_part.null_bit != 0;
  part->store_length = key_part.store_length;
  if (key_part.key_part_flag & HA_PART_KEY_SEG) return false;
  part->integer_bytes = IntegerBytes(field->real_type());
  part->is_integer = part->integer_bytes != 0;
  part->is_unsigned = field->is_unsigned();
  if (part->is_integer) return true;
  if (!IsPlainVarchar(*field)) return false;
  const CHARSET_INFO* charset = field->charset();
  part->is_binary = charset == &my_charset_bin;
  if (!part->is_binary && ((charset->state & MY_CS_NONASCII) || charset->mbminlen != 1))
    return false;
  part->chars_max = part->is_binary ? field->field_length : field->char_length();
  return true;
}

uint SimpleKey::Write(std::span<const model::Value> values, uchar* to) const {
  if (values.size() > parts_.size()) return 0;
  uint bytes = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Part& part = parts_[i];
    if (values[i].is_null()) return 0;
    uchar* image = to + bytes;
    if (part.maybe_null) *image++ = 0;
    const std::string_view text = values[i].text();
    if (!(part.is_integer ? WriteInteger(part, text, image) : WriteText(part, text, image)))
      return 0;
    bytes += part.store_length;
  }
  return bytes;
}

bool SimpleKey::WriteInteger(const Part& part, std::string_view text, uchar* to) {
  const bool is_negative = !text.empty() && text[0] == '-';
  if (is_negative) text.remove_prefix(1);
  uint64_t number;
  if (!ParseDigits(text, &number)) return false;
  const unsigned bits = 8u * part.integer_bytes;
  const uint64_t max = part.is_unsigned ? ~uint64_t{0} >> (64 - bits) : ~uint64_t{0} >> (65 - bits);
  const uint64_t lowest = part.is_unsigned ? 0 : max + 1;  // The lowest value, without its sign.
  if (number > (is_negative ? lowest : max)) return false;
  if (is_negative) number = 0 - number;
  memcpy(to, &number, part.integer_bytes);
  return true;
}

// Writes the format of Field_varstring::get_key_image: two bytes of length, the text, zeros up to
// the end.
bool SimpleKey::WriteText(const Part& part, std::string_view text, uchar* to) {
  if (text.size() > part.chars_max || !(part.is_binary || IsAscii(text))) return false;
  int2store(to, text.size());
  memcpy(to + HA_KEY_BLOB_LENGTH, text.data(), text.size());
  const size_t image_bytes = part.store_length - (part.maybe_null ? HA_KEY_NULL_LENGTH : 0);
  memset(to + HA_KEY_BLOB_LENGTH + text.size(), 0, image_bytes - HA_KEY_BLOB_LENGTH - text.size());
  return true;
}

}  // namespace rowsocket::engine::server
