// The keys that a connection of RESP watches: its EXEC compares them with what they held.
//
// Flow: Note when a WATCH is parsed, so that an EXEC behind it in its turn compares its keys; Keep
// when it has its answer, or Fail where that is an error. A WATCH that fails as it is parsed fails
// at once (Fail), or when it has its answer, where the turn may stop before it: FailLater, then
// Fail. An item that ends the watch ends it at once (End), or when the item has its answer, where
// the turn may stop before it: EndLater, then Ended.
// Threads: one at a time. Lifetime: what is noted lies in the arena of Parse, until BeginTurn.
// Limits: kRespWatchedKeysMax keys of kRespWatchedBytesMax bytes are kept; where there are more,
// count() says so.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/resp/watch.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

class RespWatchedKeys {
 public:
  /// A key that a WATCH has seen, and what it held then.
  struct Seen {
    std::string_view database;
    std::string key;
    RespImage image;
  };

  /// Forgets what the last turn has noted: items that it has not come to are parsed again.
  void BeginTurn();
  /// `calls`: those of a WATCH that is parsed.
  void Note(std::span<const RespCall> calls);
  /// `calls`: those of a WATCH that has its answer, with what they have seen.
  void Keep(std::span<const RespCall> calls);
  /// A WATCH has failed: its client, which may have sent an EXEC already, counts on the watch.
  void Fail() { has_failed_ = true; }
  /// What is parsed from now on is behind a WATCH that has failed; Fail is to be called when the
  /// WATCH has its answer.
  void FailLater() { fails_coming_ = true; }
  /// No key is watched any more.
  void End();
  /// What is parsed from now on has no key watched; Ended is to be called when the item that ends
  /// the watch has its answer.
  void EndLater();
  void Ended();

  /// Whether an EXEC that comes now is behind a WATCH that has failed.
  bool has_failed() const { return fails_coming_ || (has_failed_ && !ends_seen_); }

  /// The memory that the keys of WATCHes which have their answers take.
  size_t held_bytes() const { return seen_.size() * sizeof(Seen) + (has_too_many_ ? 0 : bytes_); }

  /// How many keys an EXEC that comes now compares: more than kRespWatchedKeysMax where they are
  /// too many.
  size_t count() const;
  /// The keys that an EXEC which comes now compares with what is known of them.
  std::span<const Seen> seen() const;
  /// The calls of WATCHes of the turn, which have seen their keys by the time that an EXEC which
  /// comes now runs.
  std::span<const RespCall* const> coming() const { return coming_; }

 private:
  std::vector<Seen> seen_;     ///< Keys of WATCHes that have their answers.
  size_t bytes_ = 0;           ///< The bytes of the keys of such WATCHes.
  bool has_too_many_ = false;  ///< There were more keys, or bytes, than may be: none is kept.
  bool has_failed_ = false;    ///< A WATCH that has its answer has failed.
  std::vector<const RespCall*> coming_;
  bool fails_coming_ = false;  ///< A WATCH of the turn has failed as it was parsed.
  bool ends_seen_ = false;     ///< An item of the turn ends the watch of seen_.
};

}  // namespace rowsocket::frontend
