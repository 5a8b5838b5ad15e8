// A short text that other threads read without a lock at any time: the description of a thread in
// SHOW PROCESSLIST. The server copies the pointer to the text when it makes that list, and reads
// the text when it sends the line: perhaps minutes later, when the thread has ended or this library
// is gone.
//
// Threads: one owner; any number of readers of the pointers that Set has returned. Each pointer
// must reach the readers by a store that releases.
// Lifetime: the memory is never freed, but handed on to the next ShownText, so a late reader may
// see another thread's text. The list of blocks to hand on is lost when the library is unloaded:
// each load of the library makes a new list, and each unloading leaks as many blocks of about 300
// bytes as there were ShownTexts at one time.
// Limits: kBytesMax; a longer text is cut.
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

  /// Sets the text, and returns its address. The text that was set before does not change until the
  /// next call.
  const char* Set(std::string_view text);

 private:
  struct Block;
  Block* const block_;
};

}  // namespace rowsocket::base
