// What meta commands note of items beside their rows: an item is stale, a client has won (was told
// to renew it), a client has read it. Marks are in memory only; a row that any session has changed
// since has no marks.
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
  uint64_t winner = 0;  ///< The request that won: when it runs again, it has still won.
  /// The request whose change has left the cas as it was, as a hash of the content may stay.
  uint64_t changer = 0;

  bool empty() const { return !stale && !promised && !was_read; }
  /// Whether it tells what no later request would find out.
  bool matters() const { return stale || promised; }
};

class MemcachedMarks {
 public:
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  /// Calls `look` with the mark of a key, or with an empty one where there is none for this cas.
  /// The mark that `look` leaves is kept, unless it is empty. `cas_grows`: a larger cas is that
  /// of a later change. Without that, marks for another cas stay: a session that still reads the
  /// row as it was before the last change must not take that change's mark away.
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

  /// The mark of a key for this cas; an empty one where there is none.
  MemcachedMark Of(uint64_t container, std::string_view key, uint64_t cas);

  /// Notes the mark, which may be empty, that a change gives the row before the change is
  /// committed. A session that still reads the row as it was, before the commit or after a
  /// rollback, finds the mark that the row had. Where the cas stays as it was, the session finds it
  /// once Undo has been called for the mark's changer.
  void Move(uint64_t container, std::string_view key, uint64_t old_cas, const MemcachedMark& mark);

  /// The request of this number has failed. Where it had won, the next request wins; where it had
  /// left the cas as it was, the row has the mark again that it had before.
  void Undo(uint64_t container, std::string_view key, uint64_t request);

 private:
  /// The marks of one row, from the last change back to earlier changes, whose cas other
  /// sessions may still see: a batch may change a row more than once.
  using Marks = std::array<MemcachedMark, 3>;
  /// By NameOf. Clients choose the keys in it.
  using Rows = std::unordered_map<std::string, Marks, exec::TextHash>;

  static constexpr size_t kParts = 16;

  struct Part {
    base::Mutex mutex;
    Rows marks GUARDED_BY(mutex);
    size_t next_bucket GUARDED_BY(mutex) = 0;  ///< Where room is looked for next.
  };

  static MemcachedMark* Find(Marks& marks, uint64_t cas);
  static std::string NameOf(uint64_t container, std::string_view key);

  Part& PartOf(const std::string& name) { return parts_[exec::HashText(0, name) % parts_.size()]; }
  /// Keeps a mark for a cas for which the row has none.
  void Keep(Part& part, const std::string& name, const MemcachedMark& mark, bool cas_grows)
      REQUIRES(part.mutex);
  void Put(Part& part, const std::string& name, const Marks& marks) REQUIRES(part.mutex);
  void MakeRoom(Part& part) REQUIRES(part.mutex);
  void Erase(Part& part, Rows::iterator place) REQUIRES(part.mutex);

  std::array<Part, kParts> parts_;
  std::atomic<size_t> count_{0};
};

}  // namespace rowsocket::frontend
