// What a frontend of RESP knows of a command from Parse to its reply.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/arena.h"
#include "base/buffer.h"
#include "exec/frontend.h"
#include "exec/token_book.h"
#include "frontend/resp/command.h"
#include "frontend/resp/key.h"
#include "frontend/resp/scripts.h"
#include "keyspace/keyspaces.h"
#include "keyspace/row_key.h"
#include "keyspace/time.h"
#include "model/request.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

/// A command on a string, parsed: what it does with the string.
struct RespStringCommand {
  enum class Expires : uint8_t { kKeep, kNever, kAt };
  std::string_view value;
  Expires expires = Expires::kKeep;
  /// kAt: the time is a span, `in_ms`, from the execution of the command on; false: it is a moment,
  /// `at_ms`.
  bool is_relative = false;
  int64_t at_ms = 0;  ///< Milliseconds since 1970.
  int64_t in_ms = 0;
  int64_t by = 0;  ///< What an increment adds.
  long double by_float = 0;
  /// GETRANGE: the offsets of its first and last byte; SETRANGE: `from` is where it writes.
  int64_t from = 0, to = 0;
  int64_t window_ms = 0;  ///< script: for how long a number is kept.
  bool gets = false;
  std::string_view lock_token;            ///< script: what the string must hold.
  int64_t lock_token_bytes_compared = 0;  ///< script: only this many bytes at the beginning must be
                                          ///< the token's.
  bool adds_time = false;           ///< script: the new time is added to the time that is left.
  bool answers_nil = false;         ///< script: the reply is nil where it would be 0.
  std::string_view wrong_if_there;  ///< The error of the command where the key is there.
  bool repeats_key = false;         ///< MSETNX: an earlier call of the command has the same key.
  bool only_if_absent = false, only_if_there = false;
  bool only_if_never = false, only_if_expires = false;  ///< EXPIRE NX, XX.
  bool only_if_later = false, only_if_sooner = false;   ///< EXPIRE GT, LT.
};

/// RENAME and COPY: what their calls tell each other, besides the string itself (RespMoved).
struct RespMove {
  bool only_if_absent = false;
  bool removes = false;         ///< RENAME: an absent source is an error.
  bool answers_number = false;  ///< RENAMENX, COPY: the reply is 1 or 0.
  bool is_taken = false;        ///< The source existed, and its value is kept.
  bool is_put = false;          ///< The target has the value.
  uint32_t flags = 0;
};

/// The string that a call of RENAME or COPY has taken, until the next call puts it to its new key.
struct RespMoved {
  std::string value;
  int64_t expires_ms = keyspace::kNever;
};

/// The options of HSCAN and HRANDFIELD: which fields of the row they answer.
struct RespFieldList {
  std::string_view pattern = "*";  ///< HSCAN: the names of listed fields match it.
  bool without_values = false;     ///< Only names of fields are answered.
  bool has_count = false;          ///< HRANDFIELD: the client has given `count`.
  int64_t count = 0;
};

/// The error of a command with an unknown option.
inline constexpr std::string_view kSyntax = "ERR syntax error";

struct RespScan;
struct RespImage;

/// WATCH, and EXEC's check of it (watch.h).
struct RespWatch {
  RespImage* image = nullptr;  ///< What the key held; null: the call is of another command.
  /// The image of a watched key that had no row: the call stops its unit where the key now has one.
  /// Null: the call's key was not watched, or not absent.
  const RespImage* absent = nullptr;
};

/// Which row a key means, as RespKeyLocator has found.
struct RespLocation {
  std::string_view database;   ///< The store's database that a string's key is in, in digits.
  RespKey key;                 ///< Which row the key names: of a table, container or the store.
  bool may_be_string = false;  ///< The command works on strings, or on keys of any type.
  bool is_string = false;      ///< The key is a string.
  /// The container's columns cannot hold the key, or MGET has the key of a row: it counts as
  /// absent.
  bool key_cannot_exist = false;
  /// The container that holds the string; null: the string is in the store, or the key is a row's.
  const keyspace::Container* container = nullptr;
  keyspace::RowKey row_key;  ///< The key in the columns of `container`.
  /// The keyspace of kind row whose prefix the key has; null: the key has no such prefix.
  const keyspace::KeyspaceDefinition* keyspace = nullptr;
  /// The container by whose column the rows of the key's table expire; null: they never do.
  const keyspace::Container* expiring_rows = nullptr;
  /// The server's keyspaces, where `container` or `expiring_rows` is set.
  const keyspace::Keyspaces* keyspaces = nullptr;
};

/// One request of a command: a command with several keys has one for each.
struct RespCall : RespLocation {
  RespVerb verb = RespVerb::kPing;
  RespArguments arguments;       ///< The command's words, its name included.
  size_t key_at = 1;             ///< The position of the call's key among `arguments`.
  bool is_first = true;          ///< The call has the first key of its command.
  bool is_last = true;           ///< The call has the last key of its command.
  uint32_t number = 1;           ///< Which command of the MULTI the call belongs to; from 1.
  std::string_view known_reply;  ///< The reply, where no engine is asked; empty: it is asked.

  /// Fields of the command that are no columns of the table are absent; the index opens the others.
  bool skips_unknown = false;
  engine::Index* index = nullptr;
  model::Request request;
  uint32_t unit_request = 0;  ///< The position of the call's request in its unit.

  // What some commands have besides.
  RespScript script = RespScript::kNone;
  std::string_view expected;  ///< script: what the field must hold (ComparesField).
  std::string_view refusal;   ///< ROW.REQUIRE: the error of a unit that it stops; empty: nil.
  /// What the command does with its string. EXPIRE of a row and GETRANGE have one, too; null: other
  /// commands that change no string.
  RespStringCommand* string_command = nullptr;
  RespMove* move = nullptr;  ///< RENAME, COPY: what their calls share; null: another command.
  RespFieldList* field_list = nullptr;  ///< HSCAN, HRANDFIELD; null: another command.
  RespScan* scan = nullptr;  ///< SCAN and its kin: what they list; null: another command.
  RespWatch watch;
};

/// The string_command of the call, which is made where the call has none.
inline RespStringCommand& StringCommandOf(RespCall& call, base::Arena& arena) {
  if (call.string_command == nullptr)
    call.string_command = &arena.Allocate<RespStringCommand>(1)[0];
  return *call.string_command;
}

/// Whether the key is a string of the store, and no item of a container.
inline bool IsOfStore(const RespCall& call) { return call.is_string && call.container == nullptr; }

struct RespWork : exec::ItemDetail {
  resp::Version version = resp::Version::k2;
  std::span<RespCall> calls;
  bool is_exec = false;
  bool is_silent = false;      ///< The client has turned this reply off (CLIENT REPLY).
  bool is_skipped = false;     ///< The one command whose reply CLIENT REPLY SKIP leaves out.
  bool changes_state = false;  ///< RespStateHistory has the state before this item.
  bool ends_watch = false;     ///< EXEC, DISCARD, UNWATCH and the like: no key is watched after it.
  bool fails_watch = false;    ///< A WATCH after other items whose parse has failed.
  bool is_rejected = false;    ///< The command was refused before anything of it was tried.
  uint8_t error = 0;           ///< RespErrorOf the reply; 0: no error.
  size_t commands = 1;         ///< How many commands the item executes: more than one in a MULTI.
  /// The replies to MULTI and its commands, if they came together with EXEC; otherwise empty.
  std::string_view queued;
  std::string_view reply;  ///< The whole reply, if the engine is not asked.
  std::string_view wrong;  ///< The error reply, if the engine has no error for it (RefuseWith).
  int64_t sum = 0;         ///< The sum of what the keys of one command count, so far.
  /// The bytes of the values that the calls have read, in replies or not, or to change them, and
  /// that SETRANGE and APPEND have made.
  size_t bytes_read = 0;
  /// Belongs to the RespUnitRun that executes the item. Null: no unit is executed, so that no call
  /// puts a string.
  RespMoved* moved = nullptr;
  uint64_t hits = 0, misses = 0;  ///< Keys that the last execution has found, and has not found.
  /// The token of a MULTI with ROW.ONCE, or the one that ROW.OUTCOME asks about; null: none.
  const exec::TokenedRequest* tokened = nullptr;
};

/// Refuses a call for a reason that only RESP has words for.
inline engine::Outcome RefuseWith(RespWork& work, std::string_view why) {
  work.wrong = why;
  return engine::Outcome::Fail(model::ErrorCode::kRefused);
}

/// Counts a key that a command has read, as Redis's keyspace_hits and keyspace_misses do.
inline void CountLookup(RespWork& work, const RespCall& call, bool is_found) {
  if (call.verb == RespVerb::kRowRequire) return;
  ++(is_found ? work.hits : work.misses);
}

/// Adds the count of one key to the sum of its command; with the last key, appends the reply.
inline void AppendCounted(RespWork& work, const RespCall& call, int64_t count, base::Buffer& out) {
  if (call.is_first) work.sum = 0;
  work.sum += count;
  if (call.is_last) resp::AppendInteger(work.sum, &out);
}

inline RespWork& RespWorkOf(const exec::Item& item) { return *static_cast<RespWork*>(item.detail); }

}  // namespace rowsocket::frontend
