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

bool ParseInteger(std::string_view text, Wide* value) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  uint64_t magnitude = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, magnitude);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return false;
  *value = negative ? -static_cast<Wide>(magnitude) : static_cast<Wide>(magnitude);
  return true;
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

Step AddInteger(THD* thd, Field* field, Wide operand, bool subtract) {
  const longlong raw = field->val_int();
  // Not every server says of BIT that it has no sign.
  const bool has_sign = !field->is_unsigned() && field->real_type() != MYSQL_TYPE_BIT;
  const Wide before =
      has_sign ? static_cast<Wide>(raw) : static_cast<Wide>(static_cast<ulonglong>(raw));
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

/// Whether the field's text is an integer. The server takes other texts by the number that they
/// begin with, or by 0, and says so only for some types and character sets.
bool HoldsInteger(Field* field) {
  StringBuffer<MAX_FIELD_WIDTH> buffer;
  const String* text = field->val_str(&buffer);
  String ascii;
  uint errors = 0;
  ascii.copy(text->ptr(), text->length(), text->charset(), &my_charset_latin1, &errors);
  Wide value = 0;
  return errors == 0 && ParseInteger({ascii.ptr(), ascii.length()}, &value);
}

Step AddReal(THD* thd, Field* field, std::string_view text, bool subtract) {
  const ParsedDouble operand = ParseDoublePrefix(text);
  if (operand.error != 0 || operand.bytes != text.size()) {
    return Refuse(field, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD);
  }
  const double before = field->val_real();
  if (thd->is_error()) return Step::kRefused;  // A text that is no number.
  const double after = subtract ? before - operand.value : before + operand.value;
  if (!std::isfinite(after)) return Refuse(field, ER_WARN_DATA_OUT_OF_RANGE);
  if (subtract && ChangesSign(before, after)) return Step::kLeftAlone;
  field->store(after);
  return thd->is_error() ? Step::kRefused : Step::kApplied;
}

/// Integers are added exactly.
Step AddText(THD* thd, Field* field, std::string_view text, bool subtract) {
  Wide integer = 0;
  const bool is_integer = ParseInteger(text, &integer);
  if (AddsRealsTo(*field) && !(is_integer && HoldsInteger(field))) {
    return AddReal(thd, field, text, subtract);
  }
  // The server itself refuses a text of single bytes that is no integer.
  if (!is_integer || (field->charset()->mbminlen > 1 && !HoldsInteger(field))) {
    return Refuse(field, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD);
  }
  return AddInteger(thd, field, integer, subtract);
}

}  // namespace

Step AddToField(THD* thd, Field* field, const model::Value& operand, bool subtract) {
  // SQL has no sum with a vector, not even where the operand is NULL.
  if (IsVector(*field)) return Refuse(field, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD);
  // SQL gives a column that stays NULL the bytes of an empty value. Where the bytes of the row's
  // NULL are those of a DEFAULT, SQL takes the row for changed, and ON UPDATE moves.
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
      if (ParseInteger(operand.text(), &integer)) return AddInteger(thd, field, integer, subtract);
      return AddDecimal(thd, field, operand.text(), subtract);
    default:
      return AddText(thd, field, operand.text(), subtract);
  }
}

}  // namespace rowsocket::engine::server
