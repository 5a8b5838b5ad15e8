// What meta commands note of items beside their rows: an item is stale, a client has won (was told
// to renew it), a client has read it. Marks are in memory only; a row that any session has changed
// since has no marks.
//
// The key of a mark is without the container's name: a row has its marks however a client names its
// container.
// Threads: all; one lock a part.
// Limits: kMemcachedMarksMax marks; when a part is full, an arbitrary mark of the part is dropped,
// so that one more client is told to renew its item.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "model/limits.h"

namespace rowsocket::frontend {

struct MemcachedMark {
  uint64_t token = 0;  ///< The item's token when it was marked.
  bool stale = false;
  bool promised = false;  ///< A client has won.
  bool was_read = false;
  int64_t read_ms = 0;
  uint64_t winner = 0;  ///< The request that won: when it runs again, it has still won.

  bool empty() const { return !stale && !promised && !was_read; }
};

class MemcachedMarks {
 public:
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  /// Calls `look` with the mark of a key, or with an empty one where there is none for this token.
  /// The mark that `look` leaves is kept, unless it is empty.
  template <typename Look>
  void With(const void* container, std::string_view key, uint64_t token, Look look) {
    const std::string name = NameOf(container, key);
    Part& part = PartOf(name);
    const base::MutexLock lock(part.mutex);
    const auto found = part.marks.find(name);
    MemcachedMark* const known = found != part.marks.end() ? Find(found->second, token) : nullptr;
    MemcachedMark mark = known != nullptr ? *known : MemcachedMark();
    mark.token = token;
    look(mark);
    const bool is_first = known == nullptr || known == found->second.data();
    if (known != nullptr && (!is_first || !mark.empty()))
      *known = mark;
    else if (!mark.empty())
      Put(part, name, {mark});
    else if (found != part.marks.end())
      Erase(part, found);
  }

  /// The mark of a key for this token; an empty one where there is none.
  MemcachedMark Of(const void* container, std::string_view key, uint64_t token) {
    const std::string name = NameOf(container, key);
    Part& part = PartOf(name);
    const base::MutexLock lock(part.mutex);
    const auto found = part.marks.find(name);
    const MemcachedMark* known = found != part.marks.end() ? Find(found->second, token) : nullptr;
    return known != nullptr ? *known : MemcachedMark();
  }

  /// Notes the mark, which may be empty, that a change gives the row before the change is
  /// committed. A session that still reads the row as it was, before the commit or after a
  /// rollback, finds the mark that the row had.
  void Move(const void* container, std::string_view key, uint64_t old_token,
            const MemcachedMark& mark) {
    const std::string name = NameOf(container, key);
    Part& part = PartOf(name);
    const base::MutexLock lock(part.mutex);
    const auto found = part.marks.find(name);
    if (found == part.marks.end() && mark.empty()) return;
    Marks marks{mark};
    marks[1].token = old_token;
    MemcachedMark* known = found != part.marks.end() ? Find(found->second, old_token) : nullptr;
    for (size_t at = 1; known != nullptr && at < marks.size(); ++at, ++known) {
      if (known == found->second.data() + found->second.size()) break;
      marks[at] = *known;
    }
    Put(part, name, marks);
  }

 private:
  /// The marks of one row, from the last change back to earlier changes, whose tokens other
  /// sessions may still see: a batch may change a row more than once.
  using Marks = std::array<MemcachedMark, 3>;

  static MemcachedMark* Find(Marks& marks, uint64_t token) {
    for (MemcachedMark& mark : marks) {
      if (mark.token == token && token != 0) return &mark;
    }
    return nullptr;
  }

  static constexpr size_t kParts = 16;

  struct Part {
    base::Mutex mutex;
    std::unordered_map<std::string, Marks> marks GUARDED_BY(mutex);
  };

  static std::string NameOf(const void* container, std::string_view key) {
    std::string name(reinterpret_cast<const char*>(&container), sizeof container);
    return name.append(key);
  }

  Part& PartOf(const std::string& name) {
    return parts_[std::hash<std::string>()(name) % parts_.size()];
  }
  void Put(Part& part, const std::string& name, const Marks& marks) REQUIRES(part.mutex) {
    if (part.marks.contains(name)) {
      part.marks[name] = marks;
      return;
    }
    if (part.marks.size() >= model::kMemcachedMarksMax / kParts)
      part.marks.erase(part.marks.begin());
    else
      count_.fetch_add(1, std::memory_order_relaxed);
    part.marks.emplace(name, marks);
  }
  void Erase(Part& part, std::unordered_map<std::string, Marks>::iterator place)
      REQUIRES(part.mutex) {
    part.marks.erase(place);
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::array<Part, kParts> parts_;
  std::atomic<size_t> count_{0};
};

}  // namespace rowsocket::frontend
