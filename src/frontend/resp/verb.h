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
  kRowOnce,     ///< Gives a MULTI the token by which it takes effect once.
  kRowOutcome,  ///< What became of a token.
  kRefused,     ///< The command is not served: RespCommand::refusal is the answer.
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
  kRowRequire,
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
  kCheckWatch,  ///< A part of EXEC: checks that the key is as WATCH has seen it.
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
enum class RespSubject : uint8_t {
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
  RespSubject subject;
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
  using Subject = RespSubject;
  using Fields = RespFields;
  constexpr unsigned kMayBeQueued = RespVerbTraits::kMayBeQueued;
  constexpr unsigned kMayLackFields = RespVerbTraits::kMayLackFields;
  constexpr unsigned kReadsString = RespVerbTraits::kReadsString;
  constexpr unsigned kHasPairs = RespVerbTraits::kHasPairs;
  constexpr unsigned kReadsExpiry =
      RespVerbTraits::kReadsString | RespVerbTraits::kNeedsExpiryAlone;
  return std::to_array<RespVerbTraits>({
      {Verb::kPing, Subject::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kEcho, Subject::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kQuit, Subject::kServer},
      {Verb::kReset, Subject::kServer},
      {Verb::kSelect, Subject::kServer},
      {Verb::kHello, Subject::kServer},
      {Verb::kAuth, Subject::kServer},
      {Verb::kClient, Subject::kServer},
      {Verb::kCommand, Subject::kServer},
      {Verb::kInfo, Subject::kServer},
      {Verb::kTime, Subject::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kRole, Subject::kServer},
      {Verb::kConfig, Subject::kServer},
      {Verb::kCluster, Subject::kServer},
      {Verb::kAcl, Subject::kServer},
      {Verb::kScript, Subject::kServer},
      {Verb::kFunction, Subject::kServer},
      {Verb::kLatency, Subject::kServer},
      {Verb::kSlowlog, Subject::kServer},
      {Verb::kHotkeys, Subject::kServer},
      {Verb::kPublish, Subject::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kLastSave, Subject::kServer},
      {Verb::kModule, Subject::kServer},
      {Verb::kPubSub, Subject::kServer},
      {Verb::kUnsubscribe, Subject::kServer},
      {Verb::kWait, Subject::kServer},
      {Verb::kMulti, Subject::kServer},
      {Verb::kExec, Subject::kServer},
      {Verb::kDiscard, Subject::kServer},
      {Verb::kUnwatch, Subject::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kRowOnce, Subject::kServer, Fields::kNone, kMayBeQueued},
      {Verb::kRowOutcome, Subject::kServer},
      {Verb::kRefused, Subject::kServer},
      {Verb::kHGet, Subject::kRow, Fields::kOne, kMayBeQueued | kMayLackFields, "SELECT"},
      {Verb::kHMGet, Subject::kRow, Fields::kEach, kMayBeQueued | kMayLackFields, "SELECT"},
      {Verb::kHGetAll, Subject::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHExists, Subject::kRow, Fields::kOne, kMayBeQueued | kMayLackFields, "SELECT"},
      {Verb::kHLen, Subject::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHKeys, Subject::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHVals, Subject::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHScan, Subject::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHStrLen, Subject::kRow, Fields::kOne, kMayBeQueued | kMayLackFields, "SELECT"},
      {Verb::kHRandField, Subject::kRow, Fields::kNone, kMayBeQueued, "SELECT"},
      {Verb::kHSet, Subject::kRow, Fields::kPairs, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kHMSet, Subject::kRow, Fields::kPairs, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kHSetNx, Subject::kRow, Fields::kOne, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kHDel, Subject::kRow, Fields::kEach, kMayBeQueued | kMayLackFields, "SELECT, UPDATE"},
      {Verb::kHIncrBy, Subject::kRow, Fields::kOne, kMayBeQueued, "SELECT, UPDATE"},
      {Verb::kHIncrByFloat, Subject::kRow, Fields::kOne, kMayBeQueued, "SELECT, UPDATE"},
      {Verb::kRowRequire, Subject::kRow, Fields::kOne, kMayBeQueued, "SELECT"},
      {Verb::kDel, Subject::kAnyKey, Fields::kNone, kMayBeQueued, "SELECT, DELETE"},
      {Verb::kExists, Subject::kAnyKey, Fields::kNone, kMayBeQueued | kReadsExpiry, "SELECT"},
      {Verb::kType, Subject::kAnyKey, Fields::kNone, kMayBeQueued | kReadsExpiry, "SELECT"},
      {Verb::kMemoryUsage, Subject::kAnyKey, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kObjectEncoding, Subject::kAnyKey, Fields::kNone, kMayBeQueued | kReadsString,
       "SELECT"},
      {Verb::kTtl, Subject::kAnyKey, Fields::kNone, kMayBeQueued | kReadsExpiry, "SELECT"},
      {Verb::kExpireTime, Subject::kAnyKey, Fields::kNone, kMayBeQueued | kReadsExpiry, "SELECT"},
      {Verb::kPersist, Subject::kAnyKey, Fields::kNone, kMayBeQueued, "SELECT, UPDATE"},
      {Verb::kExpire, Subject::kAnyKey, Fields::kNone, kMayBeQueued, "SELECT, UPDATE, DELETE"},
      {Verb::kWatch, Subject::kAnyKey, Fields::kNone, kReadsString, "SELECT"},
      {Verb::kCheckWatch, Subject::kAnyKey, Fields::kNone, kReadsString, "SELECT"},
      {Verb::kScan, Subject::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kKeys, Subject::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kDbSize, Subject::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kRandomKey, Subject::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kInfoKeys, Subject::kManyKeys, Fields::kNone, 0, "SELECT"},
      {Verb::kFlushDb, Subject::kManyKeys, Fields::kNone, 0, "SELECT, DELETE"},
      {Verb::kFlushAll, Subject::kManyKeys, Fields::kNone, 0, "DELETE"},
      {Verb::kGet, Subject::kString, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kSet, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kSetEx, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kSetNx, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kGetSet, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kGetDel, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, DELETE"},
      {Verb::kGetEx, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, UPDATE"},
      {Verb::kAppend, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kStrLen, Subject::kString, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kGetRange, Subject::kString, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kSetRange, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kIncrBy, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kIncrByFloat, Subject::kString, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kMGet, Subject::kString, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kMSet, Subject::kString, Fields::kNone, kMayBeQueued | kHasPairs,
       "SELECT, INSERT, UPDATE"},
      {Verb::kMSetNx, Subject::kString, Fields::kNone, kHasPairs, "SELECT, INSERT, UPDATE"},
      {Verb::kEval, Subject::kString, Fields::kNone, kMayBeQueued,
       "SELECT, INSERT, UPDATE, DELETE"},
      // A refusal of RENAME or COPY names the privileges of all its parts: PrivilegesOf joins them.
      {Verb::kMoveTake, Subject::kMove, Fields::kNone, kMayBeQueued | kReadsString, "SELECT"},
      {Verb::kMovePut, Subject::kMove, Fields::kNone, kMayBeQueued, "SELECT, INSERT, UPDATE"},
      {Verb::kMoveRemove, Subject::kMove, Fields::kNone, kMayBeQueued, "SELECT, DELETE"},
  });
}();

constexpr const RespVerbTraits& TraitsOf(RespVerb verb) {
  return kRespVerbs[static_cast<size_t>(verb)];
}
static_assert(std::all_of(kRespVerbs.begin(), kRespVerbs.end(),
                          [](const RespVerbTraits& row) { return &TraitsOf(row.verb) == &row; }));

/// Whether the command asks the engine.
constexpr bool AsksEngine(RespVerb verb) { return TraitsOf(verb).subject != RespSubject::kServer; }
constexpr bool IsMoveVerb(RespVerb verb) { return TraitsOf(verb).subject == RespSubject::kMove; }
constexpr bool IsStringVerb(RespVerb verb) {
  return TraitsOf(verb).subject == RespSubject::kString || IsMoveVerb(verb);
}
constexpr bool NamesManyKeys(RespVerb verb) {
  return TraitsOf(verb).subject == RespSubject::kManyKeys;
}
/// Whether the command empties the store, or a database of it.
constexpr bool IsFlush(RespVerb verb) {
  return verb == RespVerb::kFlushDb || verb == RespVerb::kFlushAll;
}
constexpr bool IsGeneric(RespVerb verb) { return TraitsOf(verb).subject == RespSubject::kAnyKey; }
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
