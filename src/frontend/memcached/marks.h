// What meta commands tell about items beside their rows: stale, a client has been told to renew it,
// it has been read. In memory only; a row that was changed since, by anybody, has no marks.
//
// A key is one without the container's name: a row has its marks whichever way it is asked for.
// Threads: all; one lock a part.
// Limits: kMemcachedMarksMax marks; when a part is full, an arbitrary mark of it goes, which means
// that one more client is told to renew its item.
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

  /// A change of the row that is not committed yet gives it this mark, which may be empty. Who
  /// still has the row as it was, because of that or because the change is taken back, finds the
  /// mark that it had.
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
  /// Of one row, from the last change to those before it, whose tokens others may still see: a
  /// batch may change a row more than once.
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
