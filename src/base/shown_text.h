// A short text that other threads read without a lock at any time: the description of a thread in
// SHOW PROCESSLIST. The server copies the pointer to it when it makes that list, and reads the text
// when it sends that line, minutes later perhaps, when the thread has ended or this library is
// gone.
//
// Threads: one owner; any number of readers of the pointers that Set has returned. Each pointer
// must reach the readers by a store that releases. Lifetime: the memory is never freed, but handed
// on to the next ShownText, so a late reader may see another's text. The list of the blocks that
// may be handed on goes when the library is unloaded. Each INSTALL then makes a list of its own,
// and each unloading leaves as many blocks of some 300 bytes behind as there were ShownTexts at one
// time. Limits: kBytesMax; a longer text is cut.
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

  /// Returns where the text now stands. The text set before stays as it is until the next call.
  const char* Set(std::string_view text);

 private:
  struct Block;
  Block* const block_;
};

}  // namespace rowsocket::base
