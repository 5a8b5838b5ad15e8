#include "engine/server/cell_reader.h"

#include <array>
#include <charconv>
#include <cstring>

#include "engine/server/integer_bytes.h"

namespace rowsocket::engine::server {

namespace {

constexpr size_t kIntegerCharsMax = 20;
constexpr size_t kDateChars = 10;      // 2024-12-31
constexpr size_t kDatetimeChars = 19;  // 2024-12-31 23:59:59

/// "00" to "99", one after another.
constexpr std::array<char, 200> kTwoDigits = [] {
  std::array<char, 200> digits{};
  for (size_t i = 0; i < digits.size(); i += 2) {
    digits[i] = static_cast<char>('0' + i / 20);
    digits[i + 1] = static_cast<char>('0' + i / 2 % 10);
  }
  return digits;
}();

/// Writes two digits; returns the place after them. REQUIRES: number < 100.
char* WriteTwoDigits(uint64_t number, char* to) {
  memcpy(to, &kTwoDigits[2 * number], 2);
  return to + 2;
}

// Writes four digits of year: a column holds years up to 9999, though its bits could hold more.
char* WriteDate(uint64_t year, uint64_t month, uint64_t day, char* to) {
  to = WriteTwoDigits(year / 100 % 100, to);
  to = WriteTwoDigits(year % 100, to);
  *to++ = '-';
  to = WriteTwoDigits(month, to);
  *to++ = '-';
  return WriteTwoDigits(day, to);
}

}  // namespace

CellReader::Kind CellReader::KindOf(const Field& field) {
  if (IntegerBytes(field.real_type()) != 0) {
    return IsZerofill(field) ? Kind::kOther : Kind::kInteger;
  }
  if (IsPlainDate(field)) return Kind::kDate;
  if (IsPlainDatetime(field)) {
    return field.decimals() == 0 ? Kind::kDatetime : Kind::kOther;
  }
  if (!IsWireText(&field)) return Kind::kOther;
  if (IsPlainVarchar(field)) return Kind::kVarchar;
  return IsPlainBlob(field) ? Kind::kBlob : Kind::kOther;
}

CellReader::CellReader(Field* field)
    : kind_(KindOf(*field)),
      is_unsigned_(field->is_unsigned()),
      null_bit_(NullBitOf(*field)),
      null_byte_(NullByteOf(*field)),
      data_(BytesOf(*field)),
      field_(field) {
  switch (kind_) {
    case Kind::kInteger:
      bytes_ = IntegerBytes(field->real_type());
      break;
    case Kind::kVarchar:
      bytes_ = static_cast<uint8_t>(LengthBytesOf(*static_cast<const Field_varstring*>(field)));
      break;
    case Kind::kBlob:
      bytes_ = static_cast<uint8_t>(static_cast<const Field_blob*>(field)->pack_length_no_ptr());
      break;
    case Kind::kOther:
    case Kind::kDate:
    case Kind::kDatetime:
      break;
  }
}

bool CellReader::Send(CellBuffers& buffers, model::RowSink& sink) const {
  if (kind_ == Kind::kOther) return SendCell(field_, buffers, sink);
  if (null_byte_ != nullptr && (*null_byte_ & null_bit_)) return sink.NullCell();
  switch (kind_) {
    case Kind::kInteger:
      return SendInteger(sink);
    case Kind::kVarchar:
      return sink.Cell({reinterpret_cast<const char*>(data_) + bytes_, Load()});
    case Kind::kBlob: {
      const char* bytes;
      memcpy(&bytes, data_ + bytes_, sizeof(bytes));
      // An empty text may have no pointer to its bytes.
      const size_t size = Load();
      return sink.Cell(size == 0 ? std::string_view("") : std::string_view(bytes, size));
    }
    case Kind::kDate:
      return SendDate(sink);
    case Kind::kDatetime:
      return SendDatetime(sink);
    case Kind::kOther:
      break;
  }
  return SendCell(field_, buffers, sink);
}

uint64_t CellReader::Load() const {
  switch (bytes_) {
    case 1:
      return *data_;
    case 2:
      return uint2korr(data_);
    case 3:
      return uint3korr(data_);
    case 4:
      return uint4korr(data_);
    default:
      return uint8korr(data_);
  }
}

bool CellReader::SendInteger(model::RowSink& sink) const {
  char text[kIntegerCharsMax];
  const uint64_t number = Load();
  const unsigned unused_bits = 64 - 8 * bytes_;
  const std::to_chars_result end =
      is_unsigned_ ? std::to_chars(text, text + sizeof(text), number)
                   : std::to_chars(text, text + sizeof(text),
                                   static_cast<int64_t>(number << unused_bits) >> unused_bits);
  return sink.Cell({text, static_cast<size_t>(end.ptr - text)});
}

// The bits of a DATE: 5 of day, 4 of month, 15 of year.
bool CellReader::SendDate(model::RowSink& sink) const {
  char text[kDateChars];
  const uint64_t packed = uint3korr(data_);
  WriteDate(packed >> 9, packed >> 5 & 15, packed & 31, text);
  return sink.Cell({text, sizeof(text)});
}

// The number of a DATETIME is big-endian, moved by half of its range: 17 bits of year * 13 + month,
// then 5 of day, 5 of hour, 6 of minute, 6 of second (my_datetime_packed_to_binary in
// sql-common/my_time.c).
bool CellReader::SendDatetime(model::RowSink& sink) const {
  constexpr uint64_t kBias = uint64_t{1} << 39;
  char text[kDatetimeChars];
  const uint64_t packed = mi_uint5korr(data_) - kBias;
  const uint64_t date = packed >> 17;
  const uint64_t year_month = date >> 5;
  char* to = WriteDate(year_month / 13, year_month % 13, date & 31, text);
  *to++ = ' ';
  to = WriteTwoDigits(packed >> 12 & 31, to);
  *to++ = ':';
  to = WriteTwoDigits(packed >> 6 & 63, to);
  *to++ = ':';
  WriteTwoDigits(packed & 63, to);
  return sink.Cell({text, sizeof(text)});
}

}  // namespace rowsocket::engine::server
