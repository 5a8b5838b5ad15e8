// The keys that a connection of RESP watches: EXEC compares them with what they held.
//
// Flow: Note when a WATCH is parsed, so that a later EXEC of the turn compares its keys; Keep when
// it has its answer, or Fail if that is an error. A WATCH whose parse fails fails at once (Fail),
// or, if the turn may stop before it, when it has its answer: FailLater, then Fail. An item that
// ends the watch ends it at once (End), or, if the turn may stop before it, when it has its answer:
// EndLater, then Ended.
// Threads: one at a time.
// Lifetime: what is noted lies in the arena of Parse, until BeginTurn.
// Limits: kRespWatchedKeysMax keys of kRespWatchedBytesMax bytes are kept; if there are more,
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

  /// Forgets what the last turn has noted, because items that it has not come to are parsed again.
  void BeginTurn();
  /// Notes the calls of a WATCH that is parsed.
  void Note(std::span<const RespCall> calls);
  /// Keeps the keys of a WATCH that has its answer, with what its calls have seen.
  void Keep(std::span<const RespCall> calls);
  /// Notes that a WATCH has failed: its client may have sent an EXEC already, and relies on the
  /// watch.
  void Fail() { has_failed_ = true; }
  /// Notes that what is parsed from now on comes after a WATCH that has failed. Call Fail when that
  /// WATCH has its answer.
  void FailLater() { fails_coming_ = true; }
  /// Ends the watch of all keys.
  void End();
  /// Ends the watch for what is parsed from now on. Call Ended when the item that ends the watch
  /// has its answer.
  void EndLater();
  void Ended();

  /// Whether an EXEC that comes now follows a WATCH that has failed.
  bool has_failed() const { return fails_coming_ || (has_failed_ && !ends_seen_); }

  /// The memory that the keys of WATCHes which have their answers take.
  size_t held_bytes() const { return seen_.size() * sizeof(Seen) + (has_too_many_ ? 0 : bytes_); }

  /// How many keys an EXEC that comes now compares; more than kRespWatchedKeysMax: they are too
  /// many.
  size_t count() const;
  /// The keys of answered WATCHes that an EXEC which comes now compares with what they held.
  std::span<const Seen> seen() const;
  /// The calls of the turn's WATCHes, which will have seen their keys when an EXEC that comes now
  /// runs.
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
