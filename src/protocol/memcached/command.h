// A request of a memcached client, in the same form for all three dialects.
//
// Flow: Parser::Next (parser.h) fills a Command; the code that executes it answers with the
// functions of encoder.h, which take the same Command and write the reply that its dialect wants,
// or no reply. The verbs are about meaning: `gets` is kGet that returns the cas, `cas` and a binary
// set with a cas are kSet with `compares_cas`, `ms MA` is kAppend, `ma MD` is kDecrement. `dialect`
// and the flags below decide what the answer looks like.
// Lifetime: views point into the parsed input or the arena, whichever ends first.
// Errors: a Command with an `error` is only answered with that error; a binary set that is too
// large also has its key, because it removes the stored item.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/memcached/error.h"

namespace rowsocket::memcached {

enum class Dialect : uint8_t { kText, kMeta, kBinary };

enum class Verb : uint8_t {
  kNone,   ///< Unknown; `error` is set.
  kGet,    ///< keys. get, gets, mg without T; binary get, getk.
  kGat,    ///< keys, exptime: get and touch. gat, gats, mg with T; binary gat, gatk.
  kTouch,  ///< key, exptime.
  kSet,    ///< key, client_flags, exptime, value; with compares_cas: cas.
  kAdd,    ///< The members as for kSet.
  kReplace,
  kAppend,   ///< key, value. Meta with `creates`: stores the value, exptime create_exptime.
  kPrepend,  ///< The members as for kAppend.
  kDelete,
  kIncrement,  ///< key, delta; with `creates`: initial, create_exptime.
  kDecrement,  ///< The members as for kIncrement.
  kFlushAll,   ///< exptime: the delay, 0 without one.
  kNoop,       ///< mn, binary noop.
  kVersion,
  kVerbosity,   ///< Answered with OK; has no effect.
  kStats,       ///< stats_arguments.
  kMetaDebug,   ///< me: key.
  kClientName,  ///< client_name; binary hello. Not memcached's own.
  kQuit,
};
inline constexpr size_t kVerbs = static_cast<size_t>(Verb::kQuit) + 1;
/// By Verb.
inline constexpr std::string_view kVerbNames[kVerbs] = {
    "none",    "get",       "gat",    "touch",     "set",         "add",       "replace",
    "append",  "prepend",   "delete", "increment", "decrement",   "flush_all", "noop",
    "version", "verbosity", "stats",  "debug",     "client_name", "quit"};

/// What verbs do, for code that treats several of them alike.
enum class VerbKind : uint8_t {
  kGet,
  kTouch,  ///< kGat, kTouch: set the expiry of an item.
  kStore,  ///< kSet, kAdd, kReplace: the item gets the value that was sent.
  kJoin,   ///< kAppend, kPrepend: the item's value and the one that was sent are joined.
  kCount,  ///< kIncrement, kDecrement.
  kDelete,
  kFlush,
  kDebug,
  kNoItem,  ///< The verb is about no item.
};

constexpr VerbKind KindOf(Verb verb) {
  switch (verb) {
    case Verb::kGet:
      return VerbKind::kGet;
    case Verb::kGat:
    case Verb::kTouch:
      return VerbKind::kTouch;
    case Verb::kSet:
    case Verb::kAdd:
    case Verb::kReplace:
      return VerbKind::kStore;
    case Verb::kAppend:
    case Verb::kPrepend:
      return VerbKind::kJoin;
    case Verb::kIncrement:
    case Verb::kDecrement:
      return VerbKind::kCount;
    case Verb::kDelete:
      return VerbKind::kDelete;
    case Verb::kFlushAll:
      return VerbKind::kFlush;
    case Verb::kMetaDebug:
      return VerbKind::kDebug;
    case Verb::kNone:
    case Verb::kNoop:
    case Verb::kVersion:
    case Verb::kVerbosity:
    case Verb::kStats:
    case Verb::kClientName:
    case Verb::kQuit:
      return VerbKind::kNoItem;
  }
  return VerbKind::kNoItem;
}

/// Whether a command with the verb has a key, or several.
constexpr bool HasKey(Verb verb) {
  const VerbKind kind = KindOf(verb);
  return kind != VerbKind::kFlush && kind != VerbKind::kNoItem;
}

/// Whether a command with the verb has a value, which is stored.
constexpr bool HasValue(Verb verb) {
  const VerbKind kind = KindOf(verb);
  return kind == VerbKind::kStore || kind == VerbKind::kJoin;
}

/// Flags of the meta commands; all unset in the other dialects.
struct MetaFlags {
  /// The flags that are answered in the reply's line, as letters in the order of the request: some
  /// of c f h k l O s t. (v is Command::returns_value.)
  std::string_view returns;
  std::string_view opaque;     ///< O: what the reply repeats, without its letter.
  bool key_is_base64 = false;  ///< b: the keys were decoded; key_text is the key as sent.
  bool no_update = false;      ///< u (mg): the access does not count as one.
  bool has_new_cas = false;    ///< E: the cas that a change leaves, new_cas.
  bool has_recache = false;    ///< R (mg): the client wins if the item has less than recache_s left
                               ///< to live.
  bool invalidates = false;    ///< I: md marks the item as stale; ms stores over a newer cas.
  bool removes_value = false;  ///< x (md): empties the value, with the client flags of F or 0.
  bool has_exptime = false;    ///< T was given; its number is in Command::exptime.
  /// G (ma): if the number is not above `guard`, nothing changes, and the answer is NS.
  bool has_guard = false;
  uint64_t new_cas = 0;
  int64_t recache_s = 0;
  uint64_t guard = 0;
  /// The positions of T, N, R and t among the flags, from 1; 0: the flag is not given. The flags
  /// are carried out in the order of these positions: for a new item, the later one of T and N
  /// counts; R and t see the effects of the flags before them.
  uint8_t exptime_at = 0;
  uint8_t create_at = 0;
  uint8_t recache_at = 0;
  uint8_t ttl_at = 0;
};

struct Command {
  Dialect dialect = Dialect::kText;
  Verb verb = Verb::kNone;
  Error error = Error::kNone;
  /// The client sent noreply, q or a quiet opcode. The encoders know which replies are then left
  /// out.
  bool quiet = false;
  /// The connection is closed after the reply, if there is a reply.
  bool closes = false;
  bool returns_cas = false;    ///< gets, gats, meta c; binary replies always carry the cas.
  bool returns_key = false;    ///< Binary getk, gatk; meta k.
  bool returns_value = false;  ///< False: mg without v, ma without v, touch, me.
  /// `cas` must be the item's cas, otherwise the answer is EXISTS. kGet (mg C): the value is not
  /// returned if `cas` is the item's cas.
  bool compares_cas = false;
  bool creates = false;  ///< Meta N; binary incr and decr that may create an item.
  /// One or more keys for kGet and kGat, exactly one for other verbs with a key, none for all
  /// others.
  std::span<const std::string_view> keys;
  /// Meta: the key as the client sent it (base64 with flag b), for the reply.
  std::string_view key_text;
  std::string_view value;
  /// The text after `stats`, with its blanks as sent (binary: the key); empty: all statistics.
  std::string_view stats_arguments;
  std::string_view client_name;  ///< The new name of the connection; empty: none.
  /// Word `number` of stats_arguments, from 0; empty when there are fewer words. Further words are
  /// ignored.
  std::string_view stats_word(size_t number) const;
  uint32_t client_flags = 0;
  /// The number as on the wire: 0 never expires; up to kRelativeExptimeMax it counts seconds from
  /// now; a larger number is a unix time; a negative number has expired already.
  int64_t exptime = 0;
  int64_t create_exptime = 0;
  uint64_t cas = 0;
  uint64_t delta = 0;
  uint64_t initial = 0;
  MetaFlags meta;
  uint8_t opcode = 0;   ///< Binary: goes into the reply as it came.
  uint32_t opaque = 0;  ///< Binary: goes into the reply as it came (in host order).

  /// The first key. REQUIRES: a verb with a key, and no error.
  std::string_view key() const { return keys.front(); }
};

/// The largest exptime that is relative to now: 30 days in seconds.
inline constexpr int64_t kRelativeExptimeMax = 60 * 60 * 24 * 30;

}  // namespace rowsocket::memcached
