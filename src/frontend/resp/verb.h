// What each command does, as a verb, and the table of the traits of all verbs.
//
// Threads: constant data.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rowsocket::frontend {

/// What a command does. Each verb has a row in kRespVerbs, at the same position.
enum class RespVerb : uint8_t {
  // Of the connection and the server:
  kPing,
  kEcho,
  kQuit,
  kReset,
  kSelect,
  kHello,
  kAuth,
  kClient,
  kCommand,
  kInfo,
  kTime,
  kRole,
  kConfig,
  kCluster,
  kAcl,
  kScript,
  kFunction,
  kLatency,
  kSlowlog,
  kHotkeys,
  kPublish,
  kLastSave,
  kModule,
  kPubSub,
  kUnsubscribe,
  kWait,
  kMulti,
  kExec,
  kDiscard,
  kUnwatch,
  kOnce,     ///< Gives a MULTI the token by which it takes effect once.
  kOutcome,  ///< What became of a token.
  kRefused,  ///< The command is not served: RespCommand::refusal is the answer.
  // Of a row:
  kHGet,
  kHMGet,
  kHGetAll,
  kHExists,
  kHLen,
  kHKeys,
  kHVals,
  kHScan,
  kHStrLen,
  kHRandField,
  kHSet,
  kHMSet,
  kHSetNx,
  kHDel,
  kHIncrBy,
  kHIncrByFloat,
  kRequire,
  // Of a key, whatever it holds:
  kDel,
  kExists,
  kType,
  kMemoryUsage,
  kObjectEncoding,
  kTtl,
  kExpireTime,
  kPersist,
  kExpire,
  kWatch,
  kWatched,  ///< A part of EXEC: checks that the key is as WATCH has seen it.
  // Of many keys:
  kScan,
  kKeys,
  kDbSize,
  kRandomKey,
  kInfoKeys,  ///< A part of INFO: counts the keys of each database.
  kFlushDb,
  kFlushAll,
  // Of a string in the store:
  kGet,
  kSet,
  kSetEx,
  kSetNx,
  kGetSet,
  kGetDel,
  kGetEx,
  kAppend,
  kStrLen,
  kGetRange,
  kSetRange,
  kIncrBy,
  kIncrByFloat,
  kMGet,
  kMSet,
  kMSetNx,
  kEval,
  // RENAME and COPY: the string is read, put under the other key, and removed under the old one.
  kMoveTake,
  kMovePut,
  kMoveRemove,
};

/// What a command is about.
enum class RespVerbPart : uint8_t {
  kServer,    ///< The connection, or the server: the engine is not asked.
  kRow,       ///< A row, as a hash.
  kAnyKey,    ///< A row or a string: the commands that Redis calls generic.
  kManyKeys,  ///< Keys that the command does not name.
  kString,    ///< A string.
  kMove,      ///< A part of RENAME or COPY, of a string.
};

/// Which arguments, from the third one on, name fields of a row.
enum class RespFields : uint8_t {
  kNone,
  kOne,    ///< The third.
  kEach,   ///< Each.
  kPairs,  ///< Every other one: a field, then its value.
};

struct RespVerbTraits {
  static constexpr unsigned kMayBeQueued = 1;    ///< The command may stand between MULTI and EXEC.
  static constexpr unsigned kMayLackFields = 2;  ///< A field that is no column counts as absent.
  static constexpr unsigned kReadsString = 4;    ///< On a string the command only reads.
  static constexpr unsigned kHasPairs = 8;       ///< The command's arguments are pairs of a key and
                                                 ///< a value.
  /// The command asks only whether its string exists, and for how long.
  static constexpr unsigned kNeedsExpiryAlone = 16;

  RespVerb verb;
  RespVerbPart part;
  RespFields fields = RespFields::kNone;
  unsigned flags = 0;
  std::string_view privileges = {};  ///< The privileges on the table without which the command is
                                     ///< refused.

  constexpr bool may_be_queued() const { return (flags & kMayBeQueued) != 0; }
  constexpr bool may_lack_fields() const { return (flags & kMayLackFields) != 0; }
  constexpr bool reads_string() const { return (flags & kReadsString) != 0; }
  constexpr bool has_pairs() const { return (flags & kHasPairs) != 0; }
  constexpr bool needs_expiry_alone() const { return (flags & kNeedsExpiryAlone) != 0; }
};

/// The table of the verbs; TraitsOf finds a row.
inline constexpr auto kRespVerbs = [] {
  using Verb = RespVerb;
  using Part = RespVerbPart;
  using Fields = RespFields;
  constexpr unsigned kMayBeQueued = RespVerbTraits::kMayBeQueued;
  constexpr unsigned kMayLackFields = RespVerbTraits::kMayLackFields;
  constexpr unsigned kReadsString = RespVerbTraits::kReadsString;
  constexpr unsigned kHasPairs = RespVerbTraits::kHasPairs;
  constexpr unsigned kReadsExpiry =
      RespVerbTraits::kReadsString | RespVerbTraits::kNeedsExpiryAlone;
  return std::to_array<RespVerbTraits>({
      {Verb::kPing, Part::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kEcho, Part::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kQuit, Part::kServer},
      {Verb::kReset, Part::kServer},
      {Verb::kSelect, Part::kServer},
      {Verb::kHello, Part::kServer},
      {Verb::kAuth, Part::kServer},
      {Verb::kClient, Part::kServer},
      {Verb::kCommand, Part::kServer},
      {Verb::kInfo, Part::kServer},
      {Verb::kTime, Part::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kRole, Part::kServer},
      {Verb::kConfig, Part::kServer},
      {Verb::kCluster, Part::kServer},
      {Verb::kAcl, Part::kServer},
      {Verb::kScript, Part::kServer},
      {Verb::kFunction, Part::kServer},
      {Verb::kLatency, Part::kServer},
      {Verb::kSlowlog, Part::kServer},
      {Verb::kHotkeys, Part::kServer},
      {Verb::kPublish, Part::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kLastSave, Part::kServer},
      {Verb::kModule, Part::kServer},
      {Verb::kPubSub, Part::kServer},
      {Verb::kUnsubscribe, Part::kServer},
      {Verb::kWait, Part::kServer},
      {Verb::kMulti, Part::kServer},
      {Verb::kExec, Part::kServer},
      {Verb::kDiscard, Part::kServer},
      {Verb::kUnwatch, Part::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kOnce, Part::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kOutcome, Part::kServer},
      {Verb::kRefused, Part::kServer},
      {Verb::kHGet, Part::kRow, Fields::kOne, kMayBeQueued | kMayLackFields, "SELECT"},
      {Verb::kHMGet, Part::kRow, Fields::kEach, kMayBeQueued | kMayLackFields, "SELECT"},
      {Verb::kHGetAll, Part::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHExists, Part::kRow, Fields::kOne, kMayBeQueued | kMayLackFields, "SELECT"},
      {Verb::kHLen, Part::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHKeys, Part::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHVals, Part::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHScan, Part::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHStrLen, Part::kRow, Fields::kOne, kMayBeQueued | kMayLackFields, "SELECT"},
      {Verb::kHRandField, Part::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHSet, Part::kRow, Fields::kPairs, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kHMSet, Part::kRow, Fields::kPairs, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kHSetNx, Part::kRow, Fields::kOne, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kHDel, Part::kRow, Fields::kEach, kMayBeQueued | kMayLackFields, "SELECT, UPDATE"},
      {Verb::kHIncrBy, Part::kRow, Fields::kOne, kMayBeQueued, "SELECT, UPDATE"},
      {Verb::kHIncrByFloat, Part::kRow, Fields::kOne, kMayBeQueued, "SELECT, UPDATE"},
      {Verb::kRequire, Part::kRow, Fields::kOne, kMayBeQueued, "SELECT"},
      {Verb::kDel, Part::kAnyKey, Fields::kNone, kMayBeQueued, "SELECT, DELETE"},
      {Verb::kExists, Part::kAnyKey, Fields::kNone, kMayBeQueued | kReadsExpiry, "SELECT"},
      {Verb::kType, Part::kAnyKey, Fields::kNone, kMayBeQueued | kReadsExpiry, "SELECT"},
      {Verb::kMemoryUsage, Part::kAnyKey, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kObjectEncoding, Part::kAnyKey, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kTtl, Part::kAnyKey, Fields::kNone, kMayBeQueued | kReadsExpiry, "SELECT"},
      {Verb::kExpireTime, Part::kAnyKey, Fields::kNone, kMayBeQueued | kReadsExpiry, "SELECT"},
      {Verb::kPersist, Part::kAnyKey, Fields::kNone, kMayBeQueued, "SELECT, UPDATE"},
      {Verb::kExpire, Part::kAnyKey, Fields::kNone, kMayBeQueued, "SELECT, UPDATE, DELETE"},
      {Verb::kWatch, Part::kAnyKey, Fields::kNone, kReadsString, "SELECT"},
      {Verb::kWatched, Part::kAnyKey, Fields::kNone, kReadsString, "SELECT"},
      {Verb::kScan, Part::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kKeys, Part::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kDbSize, Part::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kRandomKey, Part::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kInfoKeys, Part::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kFlushDb, Part::kManyKeys, Fields::kNone, 0, "SELECT, DELETE"},
      {Verb::kFlushAll, Part::kManyKeys, Fields::kNone, 0, "DELETE"},
      {Verb::kGet, Part::kString, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kSet, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kSetEx, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kSetNx, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kGetSet, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kGetDel, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, DELETE"},
      {Verb::kGetEx, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, UPDATE"},
      {Verb::kAppend, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kStrLen, Part::kString, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kGetRange, Part::kString, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kSetRange, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kIncrBy, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kIncrByFloat, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kMGet, Part::kString, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kMSet, Part::kString, Fields::kNone, kMayBeQueued | kHasPairs,
       "SELECT, INSERT, UPDATE"},
      {Verb::kMSetNx, Part::kString, Fields::kNone, kHasPairs, "SELECT, INSERT, UPDATE"},
      {Verb::kEval, Part::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE, DELETE"},
      // A refusal of RENAME or COPY names the privileges of all its parts: PrivilegesOf joins them.
      {Verb::kMoveTake, Part::kMove, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kMovePut, Part::kMove, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kMoveRemove, Part::kMove, Fields::kNone, kMayBeQueued, "SELECT, DELETE"},
  });
}();

constexpr const RespVerbTraits& TraitsOf(RespVerb verb) {
  return kRespVerbs[static_cast<size_t>(verb)];
}
static_assert(std::all_of(kRespVerbs.begin(), kRespVerbs.end(),
                          [](const RespVerbTraits& row) { return &TraitsOf(row.verb) == &row; }));

/// Whether the command asks the engine.
constexpr bool AsksEngine(RespVerb verb) { return TraitsOf(verb).part != RespVerbPart::kServer; }
constexpr bool IsMoveVerb(RespVerb verb) { return TraitsOf(verb).part == RespVerbPart::kMove; }
constexpr bool IsStringVerb(RespVerb verb) {
  return TraitsOf(verb).part == RespVerbPart::kString || IsMoveVerb(verb);
}
constexpr bool NamesManyKeys(RespVerb verb) {
  return TraitsOf(verb).part == RespVerbPart::kManyKeys;
}
/// Whether the command empties the store, or a database of it.
constexpr bool IsFlush(RespVerb verb) {
  return verb == RespVerb::kFlushDb || verb == RespVerb::kFlushAll;
}
constexpr bool IsGeneric(RespVerb verb) { return TraitsOf(verb).part == RespVerbPart::kAnyKey; }
constexpr bool NamesFields(RespVerb verb) { return TraitsOf(verb).fields != RespFields::kNone; }
/// Where the arguments that name fields end; they begin with the third one.
constexpr size_t EndOfFields(RespVerb verb, size_t arguments) {
  return TraitsOf(verb).fields == RespFields::kOne ? 3 : arguments;
}
/// The distance from one argument that names a field to the next.
constexpr size_t StepOfFields(RespVerb verb) {
  return TraitsOf(verb).fields == RespFields::kPairs ? 2 : 1;
}

}  // namespace rowsocket::frontend
