// A short text that others read without a lock, whenever they like: what a thread says of itself in
// SHOW PROCESSLIST. The server copies the pointer to it when it makes that list, and reads the text
// when it sends that line, minutes later perhaps, when the thread has ended or this library is
// gone.
//
// Threads: one owner; any number of readers of what Set has returned. Each pointer must reach them
// by a store that releases.
// Lifetime: the memory is never freed, but handed on to the next ShownText, so a late reader may
// see another's text. The list of what may be handed on goes when the library is unloaded: each
// INSTALL then makes its own, and that many blocks of some 300 bytes stay behind as there ever were
// ShownTexts at a time.
// Limits: kBytesMax; what is longer is cut.
#pragma once

#include <cstddef>
#include <string_view>

namespace rowsocket::base {

class ShownText {
 public:
  static constexpr size_t kBytesMax = 127;

  ShownText();
  ~ShownText();
  ShownText(const ShownText&) = delete;
  ShownText& operator=(const ShownText&) = delete;

  /// Where the text now stands. The one before is left as it is until the next call.
  const char* Set(std::string_view text);

 private:
  struct Block;
  Block* const block_;
};

}  // namespace rowsocket::base
