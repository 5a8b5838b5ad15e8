#include "frontend/resp/watched_keys.h"

#include "model/limits.h"

namespace rowsocket::frontend {

void RespWatchedKeys::BeginTurn() {
  coming_.clear();
  fails_coming_ = ends_seen_ = false;
}

void RespWatchedKeys::Note(std::span<const RespCall> calls) {
  for (const RespCall& call : calls) coming_.push_back(&call);
}

// If there are more keys than EXEC can compare, none is kept, and EXEC fails.
void RespWatchedKeys::Keep(std::span<const RespCall> calls) {
  for (const RespCall& call : calls) bytes_ += call.arguments[call.key_at].size();
  has_too_many_ = has_too_many_ || bytes_ > model::kRespWatchedBytesMax ||
                  seen_.size() + calls.size() > model::kRespWatchedKeysMax;
  if (has_too_many_) return seen_.clear();
  for (const RespCall& call : calls) {
    seen_.push_back({call.database, std::string(call.arguments[call.key_at]), *call.watch.image});
  }
}

void RespWatchedKeys::End() {
  coming_.clear();
  fails_coming_ = false;
  Ended();
}

void RespWatchedKeys::EndLater() {
  coming_.clear();
  fails_coming_ = false;
  ends_seen_ = true;
}

// The keys that are noted stay, because they belong to WATCHes after the item that ends the watch.
void RespWatchedKeys::Ended() {
  seen_.clear();
  bytes_ = 0;
  has_too_many_ = has_failed_ = false;
}

size_t RespWatchedKeys::count() const {
  if (ends_seen_) return coming_.size();
  return (has_too_many_ ? model::kRespWatchedKeysMax + 1 : seen_.size()) + coming_.size();
}

std::span<const RespWatchedKeys::Seen> RespWatchedKeys::seen() const {
  return ends_seen_ ? std::span<const Seen>() : std::span<const Seen>(seen_);
}

}  // namespace rowsocket::frontend
