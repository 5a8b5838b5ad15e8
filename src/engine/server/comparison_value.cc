#include "engine/server/comparison_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/require.h"
#include "engine/server/cells.h"
#include "engine/server/parse_double.h"
#include "engine/server/times.h"

namespace rowsocket::engine::server {

namespace {

constexpr ulonglong kYearMax = 2155;
constexpr double kYearMin = 1901;              // Besides 0.
constexpr longlong kMicroseconds = 1'000'000;  // In a second of a packed time.

template <typename T>
int Order(const T& left, const T& right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

/// Whether strict SQL accepts the rest of a text after its number.
bool IsBlank(std::string_view rest) {
  return rest.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

/// The DOUBLE that SQL reads at the front of a text, 0 when there is none; `*complete`: the text
/// is that number and nothing else.
double RealOf(std::string_view text, bool* complete) {
  const ParsedDouble real = ParseDoublePrefix(text);
  *complete = real.bytes != 0 && real.error == 0 && IsBlank(text.substr(real.bytes));
  return real.value;
}

bool IsTime(enum_field_types type) {
  switch (type) {
    case MYSQL_TYPE_TIMESTAMP:
    case MYSQL_TYPE_TIMESTAMP2:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_TIME:
    case MYSQL_TYPE_TIME2:
      return true;
    default:
      return false;
  }
}

bool IsDuration(enum_field_types type) {
  return type == MYSQL_TYPE_TIME || type == MYSQL_TYPE_TIME2;
}

/// Whether the text is zeros, however many: SQL takes such a text for the zero date.
bool IsZeros(std::string_view text) {
  return !text.empty() && text.find_first_not_of('0') == std::string_view::npos;
}

/// The largest number that an ENUM or SET column stores.
ulonglong LabelMax(const Field& field) {
  const uint labels = LabelsOf(field);
  if (field.real_type() == MYSQL_TYPE_ENUM) return labels;
  return labels >= 64 ? std::numeric_limits<ulonglong>::max() : (1ull << labels) - 1;
}

/// While it lives, any date is accepted: a row may hold a date that may no longer be written, and
/// SQL compares such a row with any date. For columns of TIME, which hold no dates, the mode stays.
class AnyDate {
 public:
  AnyDate(THD* thd, const Field* field) : thd_(thd), mode_(thd->variables.sql_mode) {
    if (IsDuration(field->real_type())) return;
    thd->variables.sql_mode &= ~(MODE_NO_ZERO_DATE | MODE_NO_ZERO_IN_DATE);
    thd->variables.sql_mode |= MODE_INVALID_DATES;
  }
  ~AnyDate() { thd_->variables.sql_mode = mode_; }
  AnyDate(const AnyDate&) = delete;
  AnyDate& operator=(const AnyDate&) = delete;

 private:
  THD* const thd_;
  const sql_mode_t mode_;
};

}  // namespace

void ComparisonValue::Prepare(THD* thd, Field* field, const model::Value& value) {
  thd_ = thd;
  Shrink();
  never_equal_ = false;
  has_foreign_characters_ = false;
  is_no_label_ = false;
  negative_ = false;
  loses_date_ = false;
  if (value.is_null()) {
    kind_ = Kind::kNull;
    return;
  }
  text_ = value.text();
  const enum_field_types type = field->real_type();
  switch (type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      return PrepareInteger();
    case MYSQL_TYPE_YEAR:
      return PrepareYear(field);
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
      PrepareReal();
      if (type == MYSQL_TYPE_FLOAT) kind_ = Kind::kFloat;
      return;
    case MYSQL_TYPE_NEWDECIMAL:
      return PrepareDecimal();
    case MYSQL_TYPE_BIT:
      return PrepareBits();
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
      return PrepareLabel(field);
    default:
      if (IsTime(type)) return PrepareTime(thd, field);
      if (!IsTraditional(*field) && type != MYSQL_TYPE_GEOMETRY &&
          dynamic_cast<Field_str*>(field) == nullptr) {
        return PrepareImage(field);
      }
      return PrepareText(field);
  }
}

void ComparisonValue::PrepareInteger() {
  std::string_view digits = text_;
  negative_ = !digits.empty() && digits[0] == '-';
  if (negative_ || (!digits.empty() && digits[0] == '+')) digits.remove_prefix(1);
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, integer_);
  if (!digits.empty() && digits[0] != '-' && parsed.ec == std::errc() && parsed.ptr == end) {
    negative_ = negative_ && integer_ != 0;
    kind_ = Kind::kInteger;
    return;
  }
  PrepareDecimal();
}

// A text that is no number is ordered by the number that SQL reads at its front, and equals
// nothing: a strict INSERT would refuse it.
void ComparisonValue::PrepareReal() {
  kind_ = Kind::kReal;
  bool complete = false;
  real_ = RealOf(text_, &complete);
  never_equal_ = !complete;
}

void ComparisonValue::PrepareDecimal() {
  kind_ = Kind::kDecimal;
  const char* end = text_.data();
  const int error = ReadDecimal(text_, &decimal_, &end);
  if (error & E_DEC_OVERFLOW) return PrepareReal();  // Beyond the range of any column.
  never_equal_ =
      error != E_DEC_OK || !IsBlank(text_.substr(static_cast<size_t>(end - text_.data())));
}

// SQL reads a constant for a YEAR column as a YEAR if that is exact ('99' is 1999).
void ComparisonValue::PrepareYear(Field* field) {
  field->set_notnull();
  if (field->store(text_.data(), text_.size(), &my_charset_latin1) == 0) {
    kind_ = Kind::kInteger;
    integer_ = static_cast<ulonglong>(field->val_int());
    return;
  }
  PrepareInteger();
}

void ComparisonValue::PrepareText(Field* field) {
  const CHARSET_INFO* charset = field->charset();
  kind_ = Kind::kText;
  if (charset == &my_charset_bin || field->real_type() == MYSQL_TYPE_GEOMETRY) {
    converted_.set(text_.data(), text_.size(), &my_charset_bin);
    return;
  }
  // SQL refuses a literal that is not UTF-8, so that nothing can be compared with such a text.
  if (!IsWellFormed(my_charset_utf8mb4_bin, text_)) {
    kind_ = Kind::kNothing;
    return;
  }
  uint errors = 0;
  converted_.copy(text_.data(), text_.size(), &my_charset_utf8mb4_general_ci, charset, &errors);
  never_equal_ = has_foreign_characters_ = errors != 0;
}

// In SQL's comparisons a text that is no time is the zero date; a time that no column can hold
// (2024-13-01) still has its place in the order.
void ComparisonValue::PrepareTime(THD* thd, Field* field) {
  const AnyDate any_date(thd, field);
  kind_ = Kind::kTime;
  is_duration_ = IsDuration(field->real_type());
  const TimeText read = ReadTime(thd, text_, is_duration_);
  packed_time_ = read.packed;
  loses_date_ = read.has_date;
  field->set_notnull();
  const bool stored =
      IsStoredButForRest(field->store(text_.data(), text_.size(), &my_charset_utf8mb4_general_ci));
  never_equal_ = read.is_none || !stored;
  // TIME has no zero date, and in SQL the 0 of a TIMESTAMP is no date either.
  const bool has_zero_date = !is_duration_ && field->type() != MYSQL_TYPE_TIMESTAMP;
  if (has_zero_date && packed_time_ == 0 && IsZeros(text_)) never_equal_ = false;
}

bool ComparisonValue::StoredNear(Field* field) {
  if (kind_ != Kind::kTime) return true;
  const longlong stored = PackedTimeOf(thd_, *field, is_duration_);
  if (stored == packed_time_) return true;
  // A column of times stores a time as zero when it cannot hold any time near it.
  if (field->type() != MYSQL_TYPE_TIMESTAMP) return stored != 0;
  // A TIMESTAMP keeps the fraction of a time that it cannot hold, and of a time in the hour that is
  // left out in spring.
  ulong microseconds = 0;
  const bool is_zero = IsZeroTimestamp(*field, &microseconds);
  const bool same_second = stored / kMicroseconds == packed_time_ / kMicroseconds;
  return same_second || (!is_zero && microseconds == 0);
}

void ComparisonValue::PrepareLabel(Field* field) {
  kind_ = Kind::kLabel;
  field->set_notnull();
  const int refused = field->store(text_.data(), text_.size(), &my_charset_utf8mb4_general_ci);
  integer_ = static_cast<ulonglong>(field->val_int());
  PrepareText(field);  // For `=`, the label is needed in the column's character set.
  if (kind_ == Kind::kNothing) return;
  kind_ = Kind::kLabel;
  String buffer;
  const String* label = field->val_str(&buffer);
  never_equal_ = never_equal_ || refused != 0 || sortcmp(label, &converted_, field->charset()) != 0;
  if (!never_equal_) return;
  // A text that is no label is sorted by its number, if it is one.
  const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), integer_);
  is_no_label_ = parsed.ec != std::errc() || parsed.ptr != text_.data() + text_.size();
  if (is_no_label_) kind_ = Kind::kNothing;
}

void ComparisonValue::PrepareBits() {
  kind_ = Kind::kBits;
  std::string_view bytes = text_;
  while (!bytes.empty() && bytes[0] == 0) bytes.remove_prefix(1);
  is_beyond_bits_ = bytes.size() > sizeof(integer_);
  integer_ = 0;
  if (is_beyond_bits_) return;
  for (const char byte : bytes) integer_ = integer_ << 8 | static_cast<uchar>(byte);
}

void ComparisonValue::PrepareImage(Field* field) {
  field->set_notnull();
  const bool failed = field->store(text_.data(), text_.size(), &my_charset_utf8mb4_general_ci) != 0;
  kind_ = failed ? Kind::kNothing : Kind::kImage;
  converted_.copy(reinterpret_cast<const char*>(BytesOf(*field)), field->pack_length(),
                  &my_charset_bin);
}

int ComparisonValue::Compare(Field* field) {
  ROWSOCKET_REQUIRE(comparable());
  if (kind_ == Kind::kNull) return field->is_null() ? 0 : 1;
  if (field->is_null()) return -1;
  switch (kind_) {
    case Kind::kInteger: {
      const longlong value = field->val_int();
      const bool value_negative = value < 0 && !field->is_unsigned();
      if (value_negative != negative_) return value_negative ? -1 : 1;
      const ulonglong magnitude =
          value_negative ? 0 - static_cast<ulonglong>(value) : static_cast<ulonglong>(value);
      return negative_ ? Order(integer_, magnitude) : Order(magnitude, integer_);
    }
    case Kind::kReal:
      return Order(field->val_real(), real_);
    case Kind::kFloat:
      return CompareFloat(field);
    case Kind::kDecimal: {
      my_decimal buffer;
      return my_decimal_cmp(field->val_decimal(&buffer), &decimal_);
    }
    case Kind::kText: {
      StringBuffer<MAX_FIELD_WIDTH> buffer;
      const int order = sortcmp(field->val_str(&buffer), &converted_, field->charset());
      return order == 0 && never_equal_ ? -1 : order;
    }
    case Kind::kTime:
      return Order(PackedTimeOf(thd_, *field, is_duration_), packed_time_);
    case Kind::kLabel:
      return CompareLabel(field);
    case Kind::kBits:
      return is_beyond_bits_ ? -1 : Order(static_cast<ulonglong>(field->val_int()), integer_);
    case Kind::kImage:
      return field->cmp(BytesOf(*field), reinterpret_cast<const uchar*>(converted_.ptr()));
    case Kind::kNull:
    case Kind::kNothing:
      break;
  }
  return 1;
}

int ComparisonValue::CompareLabel(Field* field) {
  return Order(static_cast<ulonglong>(field->val_int()), integer_);
}

// A FLOAT shows at most six digits, so that several values share one text; the text that a find
// shows must find its row again.
int ComparisonValue::CompareFloat(Field* field) {
  const double value = field->val_real();
  if (value == real_) return 0;
  StringBuffer<64> buffer;
  const String* shown = field->val_str(&buffer);
  bool complete = false;
  if (RealOf({shown->ptr(), shown->length()}, &complete) == real_) return 0;
  return Order(value, real_);
}

bool ComparisonValue::Holds(Field* field, model::CompareOp op) {
  if (!comparable()) return is_no_label_ && op == model::CompareOp::kNe;
  const int order = Compare(field);
  switch (op) {
    case model::CompareOp::kEq:
      return order == 0 && !never_equal_ && !loses_date_;
    case model::CompareOp::kNe:
      return order != 0 || never_equal_;
    case model::CompareOp::kGt:
      return order > 0;
    case model::CompareOp::kGe:
      return order >= 0;
    case model::CompareOp::kLt:
      return order < 0;
    case model::CompareOp::kLe:
      return order <= 0;
  }
  return false;
}

bool ComparisonValue::StoreInto(Field* field) {
  if (kind_ == Kind::kNull) {
    if (!IsNullable(*field)) return false;
    field->set_null();
    field->reset();
    return true;
  }
  if (kind_ == Kind::kNothing) return false;
  const AnyDate any_date(thd_, field);
  field->set_notnull();
  switch (kind_) {
    case Kind::kInteger:
      StoreInteger(field);
      break;
    // The number is stored, and not its text: a text far out of range may be cut to the wrong end
    // of the type.
    case Kind::kDecimal:
      if (field->real_type() == MYSQL_TYPE_YEAR) {
        my_decimal2double(E_DEC_OK, &decimal_, &real_);
        StoreYearNear(field);
        break;
      }
      field->store_decimal(&decimal_);
      break;
    case Kind::kReal:
    case Kind::kFloat:
      if (field->real_type() == MYSQL_TYPE_YEAR) {
        StoreYearNear(field);
        break;
      }
      field->store(real_);
      break;
    case Kind::kLabel:
      if (never_equal_) {
        // A number beyond the last label would be stored as 0, which is the wrong end.
        field->store(static_cast<longlong>(std::min(integer_, LabelMax(*field))),
                     /*unsigned_val=*/true);
        break;
      }
      [[fallthrough]];
    case Kind::kText:
    case Kind::kTime:
    case Kind::kBits:
    case Kind::kImage:
      field->store(text_.data(), text_.size(), WireCharset(field));
      break;
    case Kind::kNull:
    case Kind::kNothing:
      break;  // These two kinds have returned above.
  }
  return true;
}

void ComparisonValue::StoreInteger(Field* field) {
  constexpr ulonglong kSignedMin = 1ull << 63;
  if (negative_) {
    const longlong value = integer_ >= kSignedMin ? std::numeric_limits<longlong>::min()
                                                  : -static_cast<longlong>(integer_);
    // YEAR stores a value that it cannot hold as 0000, which for a value beyond its end would be
    // the wrong end.
    field->store(field->real_type() == MYSQL_TYPE_YEAR ? 0 : value, /*unsigned_val=*/false);
    return;
  }
  const ulonglong value =
      field->real_type() == MYSQL_TYPE_YEAR ? std::min(integer_, kYearMax) : integer_;
  field->store(static_cast<longlong>(value), /*unsigned_val=*/true);
}

void ComparisonValue::StoreYearNear(Field* field) {
  const double year = std::min(std::round(real_), static_cast<double>(kYearMax));
  field->store(year < kYearMin ? 0 : static_cast<longlong>(year), /*unsigned_val=*/false);
}

void ComparisonValue::StoreFloatBound(Field* field, bool upper) {
  // A FLOAT shows six digits, or a fixed number of decimals: one unit of the last digit is enough.
  const uint decimals = field->decimals();
  const double unit =
      decimals < kDecimalsNotFixed ? std::pow(10.0, -static_cast<double>(decimals)) : 0;
  const double slack = std::max(std::fabs(real_) * 1e-5, unit);
  field->set_notnull();
  field->store(upper ? real_ + slack : real_ - slack);
}

}  // namespace rowsocket::engine::server
