// A key or filter value made ready to be compared with a column, as SQL's `column op 'value'`.
//
// The rules by type (spec/handlersocket.md, "What 'as SQL does' means"):
//
//   integers, YEAR   by value, exactly
//   DECIMAL          exactly
//   DOUBLE           by value
//   FLOAT            equal when the column shows the same number as the text, otherwise by value
//   text             by the column's collation, in the column's character set; a text with a
//                    character that the set lacks equals nothing, and is refused in a range
//   bytes, BIT       by bytes; BIT after leading zero bytes
//   times            as points in time; a text that is no time orders as the zero date
//   ENUM, SET        equal by label; order by index number
//   UUID, INET       by the type's own order; a text that is no value compares with nothing
//
// A text that strict SQL would not store as a number equals nothing; it is ordered by the number
// that SQL reads at its front. NULL equals NULL and sorts before everything.
//
// Threads: the session's.
// Lifetime: keeps views of the request's value.
#pragma once

#include "api.h"
#include "model/limits.h"
#include "model/request.h"
#include "model/value.h"

namespace rowsocket::engine::server {

class ComparisonValue {
 public:
  ComparisonValue() = default;
  // A copy of the server's String shares its memory, so that a ComparisonValue must not be copied.
  ComparisonValue(const ComparisonValue&) = delete;
  ComparisonValue& operator=(const ComparisonValue&) = delete;

  /// Makes `value` comparable with `field`. Changes the field's content in record[0].
  void Prepare(THD* thd, Field* field, const model::Value& value);

  /// <0, 0, >0: the field's content in record[0] sorts before, with, after this value.
  /// REQUIRES: comparable().
  int Compare(Field* field);

  /// Frees the memory that a large value took.
  void Shrink() {
    if (converted_.alloced_length() > model::kKeptValueBytesMax) FreeBytes(converted_);
  }
  /// False for a text that is no value of the type: no comparison with it is true, except `!=` of
  /// an ENUM or SET.
  bool comparable() const { return kind_ != Kind::kNothing; }
  bool is_null() const { return kind_ == Kind::kNull; }

  /// Whether `field op value` is true for a filter.
  bool Holds(Field* field, model::CompareOp op);

  /// Puts the value into the field, as near as the type can hold it. False when the type cannot
  /// hold anything near it.
  bool StoreInto(Field* field);
  /// After StoreInto: whether rows from the stored value on are, in the column's order, the rows
  /// from the value on.
  bool StoredNear(Field* field);
  /// For FLOAT only: stores the bound of the values that could compare equal.
  void StoreFloatBound(Field* field, bool upper);
  bool is_float() const { return kind_ == Kind::kFloat; }
  /// Whether the text has characters that the column's character set lacks: SQL refuses to order by
  /// such a text, and it equals nothing.
  bool has_foreign_characters() const { return has_foreign_characters_; }
  /// Whether no column can hold the value.
  bool never_equal() const { return never_equal_; }

 private:
  enum class Kind : uint8_t {
    kNull,
    kNothing,
    kInteger,
    kReal,
    kFloat,
    kDecimal,
    kText,
    kTime,
    kLabel,
    kBits,
    kImage
  };

  void PrepareInteger();
  void StoreInteger(Field* field);
  /// Stores the year that sorts next to a number with a fraction, or beyond all integers.
  void StoreYearNear(Field* field);
  void PrepareReal();
  void PrepareDecimal();
  void PrepareYear(Field* field);
  void PrepareText(Field* field);
  void PrepareTime(THD* thd, Field* field);
  void PrepareLabel(Field* field);
  void PrepareBits();
  void PrepareImage(Field* field);
  int CompareLabel(Field* field);
  int CompareFloat(Field* field);

  Kind kind_ = Kind::kNothing;
  bool negative_ = false;        ///< kInteger: integer_ holds a negative number.
  bool is_beyond_bits_ = false;  ///< kBits: the value is larger than every BIT(64).
  bool never_equal_ = false;     ///< No column can hold the value, which only has a place in the
                                 ///< order.
  bool has_foreign_characters_ = false;
  /// A text that is no label of the ENUM or SET: every row differs from it.
  bool is_no_label_ = false;
  bool is_duration_ = false;  ///< kTime: a TIME, not a date.
  /// kTime: a TIME would be stored without the date of the value. MariaDB's SQL then calls no row
  /// equal to the value, and gives the value the place of its time in the order.
  bool loses_date_ = false;
  THD* thd_ = nullptr;
  std::string_view text_;
  ulonglong integer_ = 0;  ///< kInteger, kLabel, kBits
  double real_ = 0;
  my_decimal decimal_;
  longlong packed_time_ = 0;
  String converted_;  ///< kText in the column's character set; kImage
};

}  // namespace rowsocket::engine::server
