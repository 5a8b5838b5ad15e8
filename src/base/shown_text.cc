#include "base/shown_text.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/mutex.h"

namespace rowsocket::base {

/// Two texts: readers read one while the owner writes the other. The next owner of a block goes on
/// alternating between them.
struct ShownText::Block {
  /// The last byte of each text is never written, so that a reader finds an end even if the
  /// owner overtakes the reader.
  std::array<std::array<char, kBytesMax + 1>, 2> texts{};
  unsigned shown = 0;
  Block* next_free = nullptr;

  static Block* Take();
  static void GiveBack(Block* block);

 private:
  static base::Mutex free_mutex_;
  static Block* first_free_ GUARDED_BY(free_mutex_);
};

constinit base::Mutex ShownText::Block::free_mutex_;
constinit ShownText::Block* ShownText::Block::first_free_ = nullptr;

ShownText::Block* ShownText::Block::Take() {
  {
    const base::MutexLock lock(free_mutex_);
    if (Block* const block = first_free_; block != nullptr) {
      first_free_ = block->next_free;
      return block;
    }
  }
  return new Block;
}

void ShownText::Block::GiveBack(Block* block) {
  const base::MutexLock lock(free_mutex_);
  block->next_free = first_free_;
  first_free_ = block;
}

ShownText::ShownText() : block_(Block::Take()) {}

ShownText::~ShownText() { Block::GiveBack(block_); }

const char* ShownText::Set(std::string_view text) {
  text = text.substr(0, kBytesMax);
  if (text == block_->texts[block_->shown].data()) return block_->texts[block_->shown].data();
  block_->shown = 1 - block_->shown;
  auto& bytes = block_->texts[block_->shown];
  const auto write = [&bytes](size_t at, char byte) {
    std::atomic_ref(bytes[at]).store(byte, std::memory_order_relaxed);
  };
  for (size_t i = 0; i < text.size(); ++i) write(i, text[i]);
  if (text.size() < kBytesMax) write(text.size(), '\0');
  return bytes.data();
}

}  // namespace rowsocket::base
