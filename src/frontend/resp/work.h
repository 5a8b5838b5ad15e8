// What a frontend of RESP knows of a command from Parse to its reply.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/arena.h"
#include "exec/frontend.h"
#include "exec/token_book.h"
#include "frontend/resp/command.h"
#include "frontend/resp/key.h"
#include "frontend/resp/scripts.h"
#include "keyspace/keyspaces.h"
#include "keyspace/row_key.h"
#include "model/request.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

/// A copy that lives as long as the arena.
inline std::string_view Keep(std::string_view text, base::Arena& arena) {
  char* const kept = arena.AllocateBytes(text.size());
  text.copy(kept, text.size());
  return {kept, text.size()};
}

/// A command on a string, parsed: what it does with the string.
struct RespStringCommand {
  enum class Expires : uint8_t { kKeep, kNever, kAt };
  std::string_view value;
  Expires expires = Expires::kKeep;
  int64_t at_ms = 0;  ///< kAt: milliseconds since 1970.
  int64_t by = 0;     ///< Of an increment.
  long double by_float = 0;
  /// GETRANGE: the offsets of its first and last byte; SETRANGE: `from` is where it writes.
  int64_t from = 0, to = 0;
  int64_t window_ms = 0;  ///< script: for how long a number is kept.
  bool gets = false;
  RespScript script = RespScript::kNone;
  std::string_view token;            ///< script: what the string must hold.
  int64_t token_bytes_compared = 0;  ///< script: so many bytes in front must be the token's.
  bool adds_time = false;            ///< script: to the time that is left.
  std::string_view wrong_if_there;   ///< An error, where the key is there.
  bool only_if_absent = false, only_if_there = false;
  bool only_if_never = false, only_if_expires = false;  ///< EXPIRE NX, XX.
  bool only_if_later = false, only_if_sooner = false;   ///< EXPIRE GT, LT.
};

/// RENAME and COPY: what its calls tell each other. The value is kept by the thread that executes
/// them one after the other.
struct RespMove {
  bool only_if_absent = false;
  bool removes = false;  ///< RENAME: an absent source is an error.
  bool answers_number = false;
  bool is_taken = false;  ///< The source was there.
  bool is_put = false;
  uint32_t flags = 0;
};

/// What a command with options that it does not have is answered.
inline constexpr std::string_view kSyntax = "ERR syntax error";

struct RespScan;
struct RespImage;

/// One request of a command: a command with several keys has one for each.
struct RespCall {
  RespVerb verb = RespVerb::kPing;
  std::span<const std::string_view> arguments;     ///< With the command's name.
  size_t key_at = 1;                               ///< The argument that is its key.
  RespKey key;                                     ///< The row's, or in the store.
  bool may_be_string = false;                      ///< The command is for strings, or for any key.
  bool is_string = false;                          ///< The key is a string.
  const keyspace::Container* container = nullptr;  ///< Of a string; null: it is in the store.
  /// The server's keyspaces, where `container` or `expiring_container` is set.
  const keyspace::Keyspaces* keyspaces = nullptr;
  keyspace::RowKey row_key;  ///< In the container.
  /// The container's columns cannot hold the key, or MGET has the key of a row: it counts as
  /// absent.
  bool key_cannot_exist = false;
  const keyspace::KeyspaceDefinition* keyspace = nullptr;  ///< Of a row's key, where one has it.
  /// The container by whose column the rows of the key's table expire; null: they never do.
  const keyspace::Container* expiring_container = nullptr;
  bool skips_unknown = false;  ///< The index has only those of the command's fields that there are.
  std::string_view pattern;    ///< HSCAN: of the fields.
  bool without_values = false;  ///< HSCAN, HRANDFIELD.
  bool has_count = false;       ///< HRANDFIELD.
  int64_t count = 0;
  RespScript script = RespScript::kNone;
  bool answers_nil = false;        ///< script: in place of 0.
  std::string_view expected = {};  ///< script: what the field must hold (ComparesField).
  /// What the command does with a string, or EXPIRE with a row; null: it reads, and is no GETRANGE.
  RespStringCommand* string_command = nullptr;
  RespMove* move = nullptr;    ///< Of RENAME or COPY.
  RespScan* scan = nullptr;    ///< Of a command on many keys.
  RespImage* image = nullptr;  ///< WATCH: of the key.
  std::string_view database;   ///< Of the store.
  engine::Index* index = nullptr;
  model::Request request;
  std::string_view known_reply;  ///< Of a command that asks no engine; empty: one that does.
  uint32_t number = 1;           ///< Of its command, among those of a MULTI, from 1.
  uint32_t unit_request = 0;
  bool is_first = true;  ///< Of the keys of its command.
  bool is_last = true;
  bool repeats_key = false;  ///< MSETNX: a key before it is the same one.
  /// Of a unit: stops it where its key has a row, and had none by this image (watch.h).
  const RespImage* absent = nullptr;
  std::string_view refusal = {};  ///< ROW.REQUIRE: the error where it does not hold; empty: nil.
};

struct RespWork : exec::ItemDetail {
  resp::Version version = resp::Version::k2;
  std::span<RespCall> calls;
  bool is_exec = false;
  bool is_silent = false;      ///< CLIENT REPLY: it has no reply.
  bool is_skipped = false;     ///< By CLIENT REPLY SKIP, which is over with it.
  bool changes_state = false;  ///< RespFrontend::before_ has what was before it.
  bool ends_watch = false;
  bool is_rejected = false;  ///< It was refused before anything of it was tried.
  uint8_t error = 0;         ///< RespErrorOf its reply.
  size_t commands = 1;       ///< Of a MULTI.
  /// Of a MULTI that came with its EXEC: the replies in front of EXEC's.
  std::string_view queued;
  std::string_view reply;         ///< Of a command that is answered without the engine.
  std::string_view wrong;         ///< Why a command failed that the engine has no error for.
  int64_t sum = 0;                ///< Of a command with several keys.
  uint64_t hits = 0, misses = 0;  ///< Of its last execution: keys that were read.
  const exec::TokenedRequest* tokened = nullptr;  ///< Of a MULTI with a token; of ROW.OUTCOME.
};

/// Counts a key that a command has read, as Redis's keyspace_hits and keyspace_misses do.
inline void CountLookup(RespWork& work, const RespCall& call, bool is_found) {
  if (call.verb == RespVerb::kRequire) return;
  ++(is_found ? work.hits : work.misses);
}

inline RespWork& RespWorkOf(const exec::Item& item) { return *static_cast<RespWork*>(item.detail); }

}  // namespace rowsocket::frontend
