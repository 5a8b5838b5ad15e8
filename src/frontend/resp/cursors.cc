#include "frontend/resp/cursors.h"

#include <new>
#include <utility>

#include "base/clock.h"
#include "model/limits.h"

namespace rowsocket::frontend {

namespace {

constexpr int kCursorsOfASecondBits = 20;

}  // namespace

RespCursors::RespCursors()
    : next_(static_cast<uint64_t>(base::CalendarSeconds()) << kCursorsOfASecondBits) {}

uint64_t RespCursors::Keep(Position position, uint64_t before) {
  const base::MutexLock lock(mutex_);
  // Where there is no memory for both, neither stays: a position that no place leads to would never
  // be forgotten.
  const auto place = places_.emplace(next_, kept_.end()).first;
  try {
    kept_.push_front({next_, before, std::move(position)});
  } catch (const std::bad_alloc&) {
    places_.erase(place);
    throw;
  }
  place->second = kept_.begin();
  if (kept_.size() > model::kRespCursorsMax) Forget(kept_.back().cursor);
  return next_++;
}

bool RespCursors::Find(uint64_t cursor, Position* position) {
  const base::MutexLock lock(mutex_);
  const auto place = places_.find(cursor);
  if (place == places_.end()) return false;
  kept_.splice(kept_.begin(), kept_, place->second);
  Forget(std::exchange(kept_.front().before, 0));
  *position = kept_.front().position;
  return true;
}

size_t RespCursors::size() {
  const base::MutexLock lock(mutex_);
  return kept_.size();
}

void RespCursors::Forget(uint64_t cursor) {
  const auto place = places_.find(cursor);
  if (place == places_.end()) return;
  kept_.erase(place->second);
  places_.erase(place);
}

}  // namespace rowsocket::frontend
