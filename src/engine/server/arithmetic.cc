#include "engine/server/arithmetic.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "engine/server/parse_double.h"

namespace rowsocket::engine::server {

namespace {

__extension__ typedef __int128 Wide;

Step Refuse(Field* field, uint number) {
  if (number == ER_TRUNCATED_WRONG_VALUE_FOR_FIELD) {
    RaiseWrongNumber(*field);
  } else {
    my_error(number, MYF(0), NameText(*field), 1UL);
  }
  return Step::kRefused;
}

/// The protocol leaves alone "a row in which any column would change sign": reaching 0 is allowed.
template <typename Number>
bool ChangesSign(const Number& before, const Number& after) {
  return (before > 0 && after < 0) || (before < 0 && after > 0);
}

enum class IntegerText { kNone, kFits, kTooLong };

/// Reads a text that is an integer of up to 64 bits, perhaps with a sign, into `*value`.
IntegerText ReadInteger(std::string_view text, Wide* value) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  uint64_t magnitude = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, magnitude);
  if (text.empty() || parsed.ptr != end) return IntegerText::kNone;
  if (parsed.ec == std::errc::result_out_of_range) return IntegerText::kTooLong;
  if (parsed.ec != std::errc()) return IntegerText::kNone;
  *value = negative ? -static_cast<Wide>(magnitude) : static_cast<Wide>(magnitude);
  return IntegerText::kFits;
}

bool ParseInteger(std::string_view text, Wide* value) {
  return ReadInteger(text, value) == IntegerText::kFits;
}

Step StoreInteger(THD* thd, Field* field, Wide value) {
  // BIT would take the bits of a negative number as its value.
  const Wide minimum =
      field->real_type() == MYSQL_TYPE_BIT ? 0 : Wide{std::numeric_limits<int64_t>::min()};
  if (value > static_cast<Wide>(std::numeric_limits<uint64_t>::max()) || value < minimum) {
    return Refuse(field, ER_WARN_DATA_OUT_OF_RANGE);
  }
  const bool is_unsigned = value > static_cast<Wide>(std::numeric_limits<int64_t>::max());
  field->store(static_cast<longlong>(value), is_unsigned);
  return thd->is_error() ? Step::kRefused : Step::kApplied;
}

/// The integer that the server would take the field's value for.
Wide IntegerOf(Field* field) {
  const longlong raw = field->val_int();
  // Not every server says that BIT has no sign.
  const bool has_sign = !field->is_unsigned() && field->real_type() != MYSQL_TYPE_BIT;
  return has_sign ? static_cast<Wide>(raw) : static_cast<Wide>(static_cast<ulonglong>(raw));
}

Step AddInteger(THD* thd, Field* field, Wide before, Wide operand, bool subtract) {
  const Wide after = subtract ? before - operand : before + operand;
  if (subtract && ChangesSign(before, after)) return Step::kLeftAlone;
  return StoreInteger(thd, field, after);
}

Step AddDecimal(THD* thd, Field* field, std::string_view text, bool subtract) {
  my_decimal operand;
  const char* end = nullptr;
  const int parse_error = ReadDecimal(text, &operand, &end);
  if (parse_error > E_DEC_TRUNCATED || end != text.data() + text.size()) {
    return Refuse(field, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD);
  }
  my_decimal buffer, after;
  const my_decimal* before = field->val_decimal(&buffer);
  const int error = subtract ? my_decimal_sub(E_DEC_OK, &after, before, &operand)
                             : my_decimal_add(E_DEC_OK, &after, before, &operand);
  if (error > E_DEC_TRUNCATED) return Refuse(field, ER_WARN_DATA_OUT_OF_RANGE);
  if (subtract && !my_decimal_is_zero(before) && !my_decimal_is_zero(&after) &&
      before->sign() != after.sign()) {
    return Step::kLeftAlone;
  }
  field->store_decimal(&after);
  return thd->is_error() ? Step::kRefused : Step::kApplied;
}

/// Whether the field's text is an integer, which then is in `*value`. The server itself takes other
/// texts for the number that they begin with, or for 0, and reports that only for some types and
/// character sets; it takes an integer from 2^63 on for 2^63 - 1, or for a negative one, without a
/// report.
IntegerText IntegerHeldBy(Field* field, Wide* value) {
  StringBuffer<MAX_FIELD_WIDTH> buffer;
  const String* text = field->val_str(&buffer);
  String ascii;
  uint errors = 0;
  ascii.copy(text->ptr(), text->length(), text->charset(), &my_charset_latin1, &errors);
  if (errors != 0) return IntegerText::kNone;
  return ReadInteger({ascii.ptr(), ascii.length()}, value);
}

Step AddReal(THD* thd, Field* field, std::string_view text, bool subtract) {
  const ParsedDouble operand = ParseDoublePrefix(text);
  if (operand.error != 0 || operand.bytes != text.size()) {
    return Refuse(field, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD);
  }
  const double before = field->val_real();
  if (thd->is_error()) return Step::kRefused;  // The text is no number.
  const double after = subtract ? before - operand.value : before + operand.value;
  if (!std::isfinite(after)) return Refuse(field, ER_WARN_DATA_OUT_OF_RANGE);
  if (subtract && ChangesSign(before, after)) return Step::kLeftAlone;
  field->store(after);
  return thd->is_error() ? Step::kRefused : Step::kApplied;
}

/// Integers are added exactly.
Step AddText(THD* thd, Field* field, std::string_view text, bool subtract) {
  Wide before = 0;
  Wide integer = 0;
  const bool is_integer = ParseInteger(text, &integer);
  // In ENUM and SET, the sum is made with the number of the element, whatever its text is.
  const auto type = field->real_type();
  const bool has_text = type != MYSQL_TYPE_ENUM && type != MYSQL_TYPE_SET;
  const IntegerText held =
      is_integer && has_text ? IntegerHeldBy(field, &before) : IntegerText::kNone;
  if (held == IntegerText::kFits) return AddInteger(thd, field, before, integer, subtract);
  if (AddsRealsTo(*field)) return AddReal(thd, field, text, subtract);
  if (held == IntegerText::kTooLong) return Refuse(field, ER_WARN_DATA_OUT_OF_RANGE);
  // The server itself refuses a text of single bytes that is no integer.
  if (!is_integer || (has_text && field->charset()->mbminlen > 1)) {
    return Refuse(field, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD);
  }
  return AddInteger(thd, field, IntegerOf(field), integer, subtract);
}

}  // namespace

Step AddToField(THD* thd, Field* field, const model::Value& operand, bool subtract) {
  // SQL cannot add to a vector, not even NULL.
  if (IsVector(*field)) return Refuse(field, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD);
  // SQL gives a column that stays NULL the bytes of an empty value. If the row's NULL has the bytes
  // of a DEFAULT, SQL therefore takes the row for changed, and ON UPDATE takes effect.
  if (field->is_null() && !operand.is_null() && !IsGenerated(*field)) {
    MarkAsGiven(*field);
    field->reset();
  }
  if (field->is_null() || operand.is_null()) return Step::kApplied;
  if (IsGenerated(*field)) {
    RaiseGivenGenerated(*field);
    return Step::kRefused;
  }
  MarkAsGiven(*field);
  if (operand.text().empty()) return Step::kApplied;
  Wide integer = 0;
  switch (ArithmeticOf(*field)) {
    case REAL_RESULT:
      return AddReal(thd, field, operand.text(), subtract);
    case DECIMAL_RESULT:
      return AddDecimal(thd, field, operand.text(), subtract);
    case INT_RESULT:
      if (ParseInteger(operand.text(), &integer)) {
        return AddInteger(thd, field, IntegerOf(field), integer, subtract);
      }
      return AddDecimal(thd, field, operand.text(), subtract);
    default:
      return AddText(thd, field, operand.text(), subtract);
  }
}

}  // namespace rowsocket::engine::server
