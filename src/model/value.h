// One text value of a request, as it came from the wire after unescaping.
//
// Lifetime: a view; the bytes belong to the connection's input or to the turn's arena and stay
// valid until the reply of the request is encoded (invariant I2).
#pragma once

#include <cstddef>
#include <string_view>

namespace rowsocket::model {

class Value {
 public:
  /// The value NULL.
  constexpr Value() = default;
  /// A text; `text.data()` must not be null (an empty text points anywhere).
  constexpr explicit Value(std::string_view text)
      : text_(text.data() ? text : std::string_view("")) {}

  constexpr bool is_null() const { return text_.data() == nullptr; }
  /// The text; that of NULL is empty.
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_{};
};

}  // namespace rowsocket::model
