// What a memcached client asks for, the same for the three dialects.
//
// Flow: Parser::Next (parser.h) fills a Command; whoever executes it answers with the functions of
// encoder.h, which take the same Command and write the reply that its dialect wants, or none.
// The verbs are about meaning: `gets` is kGet that returns the token, `cas` and a binary set with a
// token are kSet with `compares_cas`, `ms MA` is kAppend, `ma MD` is kDecrement. `dialect` and the
// flags below say how the answer looks.
// Lifetime: views point into the parsed input or the arena, whichever ends first.
// Errors: a Command with an `error` asks for nothing but that error as its reply; a binary set that
// is too large also has its key, since it takes away what was stored.
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
  kAdd,    ///< As kSet.
  kReplace,
  kAppend,   ///< key, value. Meta with `creates`: stores the value, exptime create_exptime.
  kPrepend,  ///< As kAppend.
  kDelete,
  kIncrement,  ///< key, delta; with `creates`: initial, create_exptime.
  kDecrement,  ///< As kIncrement.
  kFlushAll,   ///< exptime: the delay, 0 without one.
  kNoop,       ///< mn, binary noop.
  kVersion,
  kVerbosity,  ///< Answered with OK; means nothing.
  kStats,      ///< stats_arguments.
  kMetaDebug,  ///< me: key.
  kQuit,
};
inline constexpr size_t kVerbs = static_cast<size_t>(Verb::kQuit) + 1;

/// Flags of the meta commands; all unset in the other dialects.
struct MetaFlags {
  /// The flags whose answer stands in the reply's line, as letters in the order asked for: some of
  /// c f h k l O s t. (v is Command::returns_value.)
  std::string_view returns;
  std::string_view opaque;     ///< O: the token without its letter.
  bool key_is_base64 = false;  ///< b: keys are decoded; key_text is what the client sent.
  bool no_update = false;      ///< u (mg): the access does not count.
  bool has_new_cas = false;    ///< E: the token that a change leaves, new_cas.
  bool has_recache = false;    ///< R (mg): wins when less than recache_s is left to live.
  bool invalidates = false;    ///< I: md marks as stale; ms stores over a newer token.
  bool removes_value = false;  ///< x (md): empties the value, with the client flags of F or 0.
  bool has_exptime = false;    ///< T was given; its number is Command::exptime.
  bool has_guard = false;      ///< G (ma): changes nothing unless the number is above `guard`: NS.
  uint64_t new_cas = 0;
  int64_t recache_s = 0;
  uint64_t guard = 0;
  /// Where T, N, R and t stand among the flags, from 1; 0: nowhere. Each is carried out in its
  /// turn: of T and N the later one stands where an item is made, R and t see what those before
  /// them did.
  uint8_t exptime_at = 0;
  uint8_t create_at = 0;
  uint8_t recache_at = 0;
  uint8_t ttl_at = 0;
};

struct Command {
  Dialect dialect = Dialect::kText;
  Verb verb = Verb::kNone;
  Error error = Error::kNone;
  /// noreply, q, the quiet opcodes. Which replies that silences is the encoders' business.
  bool quiet = false;
  /// After the reply (if there is one) the connection is closed.
  bool closes = false;
  bool returns_cas = false;    ///< gets, gats, meta c; binary replies always carry it.
  bool returns_key = false;    ///< Binary getk, gatk; meta k.
  bool returns_value = false;  ///< False: mg without v, ma without v, touch, me.
  /// `cas` must be the item's token, else EXISTS. kGet (mg C): the value is not returned if it is.
  bool compares_cas = false;
  bool creates = false;  ///< Meta N; binary incr and decr that may create.
  /// Of kGet and kGat one or more, of verbs with a key exactly one, else none.
  std::span<const std::string_view> keys;
  /// Meta: the key as the client sent it (base64 with flag b), for the reply.
  std::string_view key_text;
  std::string_view value;
  /// What follows `stats`, its blanks as sent (binary: the key); empty: all.
  std::string_view stats_arguments;
  /// One of its words, from 0; empty: there are fewer. Words more than are asked for are ignored.
  std::string_view stats_word(size_t number) const;
  uint32_t client_flags = 0;
  /// As on the wire: 0 never, up to kRelativeExptimeMax seconds from now, larger a unix time,
  /// negative already expired.
  int64_t exptime = 0;
  int64_t create_exptime = 0;
  uint64_t cas = 0;
  uint64_t delta = 0;
  uint64_t initial = 0;
  MetaFlags meta;
  uint8_t opcode = 0;   ///< Binary: goes into the reply as it came.
  uint32_t opaque = 0;  ///< Binary: goes into the reply as it came (in host order).

  /// REQUIRES: a verb with a key, and no error.
  std::string_view key() const { return keys.front(); }
};

/// The largest exptime that counts from now: 30 days in seconds.
inline constexpr int64_t kRelativeExptimeMax = 60 * 60 * 24 * 30;

}  // namespace rowsocket::memcached
