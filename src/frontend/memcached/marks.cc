#include "frontend/memcached/marks.h"

#include <algorithm>

namespace rowsocket::frontend {

namespace {

/// How many rows MakeRoom looks at to find one that was only read.
constexpr size_t kLooksForRoom = 16;

}  // namespace

MemcachedMark* MemcachedMarks::Find(Marks& marks, uint64_t cas) {
  for (MemcachedMark& mark : marks) {
    if (mark.cas == cas && cas != 0) return &mark;
  }
  return nullptr;
}

std::string MemcachedMarks::NameOf(uint64_t container, std::string_view key) {
  std::string name(reinterpret_cast<const char*>(&container), sizeof container);
  return name.append(key);
}

MemcachedMark MemcachedMarks::Of(uint64_t container, std::string_view key, uint64_t cas) {
  const std::string name = NameOf(container, key);
  Part& part = PartOf(name);
  const base::MutexLock lock(part.mutex);
  const auto found = part.marks.find(name);
  const MemcachedMark* known = found != part.marks.end() ? Find(found->second, cas) : nullptr;
  return known != nullptr ? *known : MemcachedMark();
}

void MemcachedMarks::Move(uint64_t container, std::string_view key, uint64_t old_cas,
                          const MemcachedMark& mark) {
  const std::string name = NameOf(container, key);
  Part& part = PartOf(name);
  const base::MutexLock lock(part.mutex);
  const auto found = part.marks.find(name);
  if (found == part.marks.end() && mark.empty()) return;
  Marks marks{mark};
  marks[1].cas = old_cas;
  if (found != part.marks.end()) {
    const MemcachedMark* known = Find(found->second, old_cas);
    const MemcachedMark* const end = found->second.data() + found->second.size();
    // When a request that leaves the cas as it was runs again, the mark of its first run is
    // dropped.
    const bool runs_again =
        known != nullptr && known + 1 != end && mark.changer != 0 && known->changer == mark.changer;
    if (runs_again) ++known;
    for (size_t at = 1; known != nullptr && known != end && at < marks.size(); ++at, ++known)
      marks[at] = *known;
  }
  Put(part, name, marks);
}

void MemcachedMarks::Undo(uint64_t container, std::string_view key, uint64_t request) {
  const std::string name = NameOf(container, key);
  Part& part = PartOf(name);
  const base::MutexLock lock(part.mutex);
  const auto found = part.marks.find(name);
  if (found == part.marks.end()) return;
  Marks& marks = found->second;
  for (auto mark = marks.begin(); mark != marks.end();) {
    if (mark->winner == request) {
      mark->promised = false;
      mark->winner = 0;
    }
    const auto before = mark + 1;
    if (mark->changer != request) {
      mark = before;
    } else if (before != marks.end() && before->cas == mark->cas) {
      std::move(before, marks.end(), mark);
      marks.back() = {};
    } else {  // The former mark has had to make room.
      mark->stale = false;
      mark->changer = 0;
    }
  }
}

void MemcachedMarks::Keep(Part& part, const std::string& name, const MemcachedMark& mark,
                          bool cas_grows) {
  const auto found = part.marks.find(name);
  if (found == part.marks.end()) {
    if (!mark.empty()) Put(part, name, {mark});
    return;
  }
  if (cas_grows && mark.cas > found->second.front().cas) {  // Another session's change.
    if (mark.empty())
      Erase(part, found);
    else
      found->second = {mark};
  } else if (!mark.empty()) {
    found->second.back() = mark;
  }
}

void MemcachedMarks::Put(Part& part, const std::string& name, const Marks& marks) {
  const auto found = part.marks.find(name);
  if (found != part.marks.end()) {
    found->second = marks;
    return;
  }
  if (part.marks.size() >= model::kMemcachedMarksMax / kParts) MakeRoom(part);
  part.marks.emplace(name, marks);
  count_.fetch_add(1, std::memory_order_relaxed);
}

// Goes on where the last call ended, because the first row of the table is one of the newest.
void MemcachedMarks::MakeRoom(Part& part) {
  auto victim = part.marks.end();
  const size_t buckets = part.marks.bucket_count();
  size_t looks = 0;
  for (size_t i = 0; i < buckets && looks < kLooksForRoom; ++i) {
    const size_t bucket = part.next_bucket++ % buckets;
    if (part.marks.bucket_size(bucket) == 0) continue;
    ++looks;
    const auto row = part.marks.begin(bucket);
    victim = part.marks.find(row->first);
    const bool matters = std::any_of(row->second.begin(), row->second.end(),
                                     [](const MemcachedMark& mark) { return mark.matters(); });
    if (!matters) break;
  }
  if (victim != part.marks.end()) Erase(part, victim);
}

void MemcachedMarks::Erase(Part& part, Rows::iterator place) {
  part.marks.erase(place);
  count_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace rowsocket::frontend
