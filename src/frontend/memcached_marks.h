// What meta commands tell about items beside their rows: stale, a client has been told to renew it,
// it has been read. In memory only; a row that was changed since, by anybody, has no marks.
//
// Threads: all; one lock a part.
// Limits: kMarksMax marks; when a part is full, an arbitrary mark of it goes, which means that one
// more client is told to renew its item.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rowsocket::frontend {

struct MemcachedMark {
  uint64_t token = 0;  ///< The item's when it was marked.
  bool stale = false;
  bool promised = false;  ///< Some client has won.
  bool was_read = false;
  int64_t read_ms = 0;
  uint64_t winner = 0;  ///< The request that won: it has still won when it is run again.

  bool empty() const { return !stale && !promised && !was_read; }
};

class MemcachedMarks {
 public:
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  /// Calls `look` with the mark of a key, an empty one where there is none for this token. What it
  /// leaves is kept, unless that is empty.
  template <typename Look>
  void With(const void* container, std::string_view key, uint64_t token, Look look) {
    WithUnlessLater(container, key, token, UINT64_MAX, look);
  }
  /// The same, but a mark of a token above `latest` stays: who has read a row may not have seen yet
  /// what is being committed, and marked already.
  template <typename Look>
  void WithUnlessLater(const void* container, std::string_view key, uint64_t token, uint64_t latest,
                       Look look) {
    const std::string name = NameOf(container, key);
    Part& part = parts_[std::hash<std::string>()(name) % parts_.size()];
    std::lock_guard lock(part.mutex);
    auto found = part.marks.find(name);
    MemcachedMark mark;
    if (found != part.marks.end() && found->second.token == token) mark = found->second;
    mark.token = token;
    look(mark);
    if (found != part.marks.end() && found->second.token > latest) return;
    if (mark.empty()) {
      if (found == part.marks.end()) return;
      part.marks.erase(found);
      count_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    if (found != part.marks.end()) {
      found->second = mark;
      return;
    }
    if (part.marks.size() >= kMarksMax / kParts)
      part.marks.erase(part.marks.begin());
    else
      count_.fetch_add(1, std::memory_order_relaxed);
    part.marks.emplace(name, mark);
  }

 private:
  static constexpr size_t kParts = 16;
  static constexpr size_t kMarksMax = 65'536;

  struct Part {
    std::mutex mutex;
    std::unordered_map<std::string, MemcachedMark> marks;
  };

  static std::string NameOf(const void* container, std::string_view key) {
    std::string name(reinterpret_cast<const char*>(&container), sizeof container);
    return name.append(key);
  }

  std::array<Part, kParts> parts_;
  std::atomic<size_t> count_{0};
};

}  // namespace rowsocket::frontend
