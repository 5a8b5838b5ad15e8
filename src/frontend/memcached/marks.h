// What meta commands note about items outside of their rows: an item is stale, a client has won
// (was told to renew it), a client has read it. Marks are in memory only; a row that any session
// has changed since has no marks.
//
// A mark belongs to the serial of its container's state and to the key without the container's
// name: a row has its marks however a client names its container.
// Threads: all; one lock a part.
// Limits: kMemcachedMarksMax rows with marks. When a part is full, a row of the part loses its
// marks: one that was only read, if a few looks find such a row.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "exec/key_hash.h"
#include "model/limits.h"

namespace rowsocket::frontend {

struct MemcachedMark {
  uint64_t cas = 0;  ///< The item's cas when it was marked.
  bool stale = false;
  bool promised = false;  ///< A client has won.
  bool was_read = false;
  int64_t read_ms = 0;
  uint64_t winner = 0;  ///< The number of the request that has won: when this request runs again,
                        ///< it has still won.
  /// The number of the request whose change has left the cas as it was, which a cas that is a hash
  /// of the content allows.
  uint64_t changer = 0;

  bool empty() const { return !stale && !promised && !was_read; }
  /// Whether the mark has something that later requests could not find out.
  bool matters() const { return stale || promised; }
};

class MemcachedMarks {
 public:
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  /// Calls `look` with the mark of a key, or with an empty one if there is none for this cas. The
  /// mark that `look` leaves is kept, unless it is empty. `cas_grows`: a later change has a larger
  /// cas. If not so, marks for another cas stay: a session that still reads the row as it was
  /// before the last change must not take that change's mark away.
  template <typename Look>
  void With(uint64_t container, std::string_view key, uint64_t cas, bool cas_grows, Look look) {
    const std::string name = NameOf(container, key);
    Part& part = PartOf(name);
    const base::MutexLock lock(part.mutex);
    const auto found = part.marks.find(name);
    MemcachedMark* const known = found != part.marks.end() ? Find(found->second, cas) : nullptr;
    MemcachedMark mark = known != nullptr ? *known : MemcachedMark();
    mark.cas = cas;
    look(mark);
    if (known == nullptr) return Keep(part, name, mark, cas_grows);
    const bool is_last_change = known == found->second.data();
    if (is_last_change && mark.empty())
      Erase(part, found);
    else
      *known = mark;
  }

  /// The mark of a key for this cas; an empty one if there is none.
  MemcachedMark Of(uint64_t container, std::string_view key, uint64_t cas);

  /// Before a change is committed, notes the mark, perhaps an empty one, that it gives the row. A
  /// session that still reads the old row, before the commit or after a rollback, finds the old
  /// mark. If the cas stays the same, it does so once Undo has been called for the mark's changer.
  void Move(uint64_t container, std::string_view key, uint64_t old_cas, const MemcachedMark& mark);

  /// Undoes the marks of a request that has failed, by its number. If it had won, the next request
  /// wins; if it had left the cas as it was, the row gets its former mark back.
  void Undo(uint64_t container, std::string_view key, uint64_t request);

 private:
  /// The marks of one row, from the last change back to earlier changes, whose cas other
  /// sessions may still see: a batch may change a row more than once.
  using Marks = std::array<MemcachedMark, 3>;
  /// By NameOf. The hash has a secret, because clients choose the keys in the names.
  using Rows = std::unordered_map<std::string, Marks, exec::TextHash>;

  static constexpr size_t kParts = 16;

  struct Part {
    base::Mutex mutex;
    Rows marks GUARDED_BY(mutex);
    size_t next_bucket GUARDED_BY(mutex) = 0;  ///< The bucket in which MakeRoom looks next.
  };

  static MemcachedMark* Find(Marks& marks, uint64_t cas);
  static std::string NameOf(uint64_t container, std::string_view key);

  Part& PartOf(const std::string& name) { return parts_[exec::HashText(0, name) % parts_.size()]; }
  /// Keeps a mark for a cas for which the row has no mark.
  void Keep(Part& part, const std::string& name, const MemcachedMark& mark, bool cas_grows)
      REQUIRES(part.mutex);
  void Put(Part& part, const std::string& name, const Marks& marks) REQUIRES(part.mutex);
  void MakeRoom(Part& part) REQUIRES(part.mutex);
  void Erase(Part& part, Rows::iterator place) REQUIRES(part.mutex);

  std::array<Part, kParts> parts_;
  std::atomic<size_t> count_{0};
};

}  // namespace rowsocket::frontend
