// Pieces of replies in the text dialects.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "protocol/memcached/command.h"
#include "protocol/memcached/encoder.h"

namespace rowsocket::memcached {

inline constexpr std::string_view kLineEnd = "\r\n";

/// The decimal digits of a number.
class Digits {
 public:
  template <typename T>
  explicit Digits(T number) {
    end_ = std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr;
  }
  std::string_view view() const { return {text_.data(), static_cast<size_t>(end_ - text_.data())}; }

 private:
  std::array<char, 24> text_;  ///< Room for 20 digits and a sign.
  char* end_;
};

template <typename T>
void AppendNumberText(T number, base::Buffer* out) {
  out->Append(Digits(number).view());
}

inline void AppendLine(std::string_view text, base::Buffer* out) {
  out->Append(text);
  out->Append(kLineEnd);
}

/// `VALUE <key> <flags> <bytes>[ <cas>]` and the value.
void AppendTextHit(const Command& command, std::string_view key, const Item& item,
                   base::Buffer* out);

/// Which of the requested flags a meta reply holds.
enum class Returned : uint8_t {
  kKeyAndOpaque,  ///< Only k and O, because there is no item.
  kAll,
};

/// `<status> <flag>*` with CR LF.
void AppendMetaLine(const Command& command, std::string_view status, Returned returned,
                    const Item& item, base::Buffer* out);
/// `VA <bytes> <flag>*` and the value, or `HD <flag>*`.
void AppendMetaHit(const Command& command, const Item& item, base::Buffer* out);

}  // namespace rowsocket::memcached
