// Requests that take effect once, however often they are sent: each carries a token, which is kept
// with its answer in the table rowsocket.tokens, in the transaction of the request itself.
//
// Flow, for a request with a token:
//
//   Find -> kept already: its answer again, or tokendiffers if the request is another one
//        -> new: the request is executed, then Keep(token, request, answer), in one transaction
//
// Two requests with the same token at once meet in the table's primary key: one of them waits or
// runs again, even when the other has kept the token between the Find and the Keep of the first.
// Keeping a token removes up to kTokensPurgedAtOnce old tokens; a session that waits for locks
// removes none, and no session does for kTokenPurgePauseS seconds after a purge has cost a
// transaction or a unit. A token counts as new when it is older than the plugin's own settings say;
// its row stays for the longest time that any plugin has asked for (KeepFor), because
// the plugins share the table. If the calendar jumps forward while the server runs, nothing expires
// until tokens that were kept before the jump have really become that old (CalendarWatch).
//
// Threads: const functions from any, all else from the connection's worker.
// Lifetime: as the connection.
// Limits: kTokenBytesMax.
// Errors: outcomes of the engine; token_table when the table is missing (packaging/*.sql), but not
// when it is locked, or cannot be opened just now.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/require.h"
#include "engine/session.h"
#include "exec/frontend.h"
#include "model/limits.h"
#include "model/value.h"

namespace rowsocket::exec {

/// Notices that the calendar has jumped forward, as the clock of a machine that gets a wrong time
/// does. By such a calendar, tokens that were kept before would have expired, and requests that are
/// sent again would take effect again, also when the calendar has been put right. A reload of the
/// library forgets the jump.
///
/// Threads: any.
class CalendarWatch {
 public:
  CalendarWatch();

  /// The watch of this library, made at the first call. All plugins share it as they share the
  /// table of tokens: a plugin that starts after a jump must not take the calendar for right.
  static const std::shared_ptr<CalendarWatch>& OfLibrary();

  /// The seconds since the last jump, or UINT64_MAX if none was noticed. `calendar_s` and
  /// `running_s`: what the calendar says now, and a clock that nobody sets.
  uint64_t SecondsSinceJump(uint64_t calendar_s, uint64_t running_s);

 private:
  static constexpr uint64_t kNoJump = UINT64_MAX;

  std::atomic<int64_t> ahead_s_;             ///< How far the calendar was ahead of the other clock.
  std::atomic<uint64_t> jumped_s_{kNoJump};  ///< The other clock's time of the last jump.
};

struct TokenSettings {
  uint32_t ttl_s = 86'400;  ///< How long a token and its answer count.
  /// The calendar's seconds since 1970; null: the system's clock.
  std::function<uint64_t()> now_s;
  /// Seconds of a clock that nobody sets; null: those since the machine's start.
  std::function<uint64_t()> running_s;
  /// Tests with clocks of their own have a watch of their own.
  std::shared_ptr<CalendarWatch> calendar = CalendarWatch::OfLibrary();
};

enum class TokenState : uint8_t {
  kDone,
  kUnknown,
  kNever,  ///< The request of the token will never take effect.
};

/// The state's name, as clients are told it: done, unknown, never.
std::string_view NameOf(TokenState state);

/// Whether the text may be a token. The text of NULL, which is empty, may not.
inline bool IsToken(std::string_view text) {
  return !text.empty() && text.size() <= model::kTokenBytesMax;
}

/// What became of a token.
struct TokenFate {
  TokenState state = TokenState::kUnknown;
  std::string request;  ///< kDone: the identity of the request that has taken effect.
  std::string answer;   ///< kDone: the answer that the request got.
};

/// The identity of a request with a token; it lies in the arena of the request's turn.
struct TokenedRequest : ItemDetail {
  model::Value token;
  std::string_view text;  ///< Equal for equal requests on the same columns only.
  enum class Asks : uint8_t {
    kRequest,  ///< To execute the request once.
    kState,    ///< To say what became of the token.
    kFence,    ///< To say what became of the token; if its request has not taken effect, it never
               ///< will.
  };
  Asks asks = Asks::kRequest;
  /// kFence: whose rights on the table of tokens are asked for; null: all rights.
  const model::Account* account = nullptr;
};

class TokenBook {
 public:
  explicit TokenBook(const TokenSettings& settings) : settings_(settings) {}

  /// Keeps all books of this library from removing the row of a token that is younger than `ttl_s`.
  /// A plugin that serves tokens calls it when it starts, so that tokens of before the server's
  /// restart are still there. Any thread.
  static void KeepFor(uint32_t ttl_s);

  /// The next index that has to be opened before Execute; null when all are.
  const engine::IndexNames* ToOpen() const;
  /// Takes the index that was opened for ToOpen. Null: the outcome says why it could not be opened.
  void Opened(const engine::Outcome& outcome, std::shared_ptr<engine::Index> index);
  /// Takes the error with which the index of ToOpen could not be opened; afterwards ToOpen may be
  /// tried again.
  model::Error TakeFailure() { return std::exchange(failure_, {}); }

  /// Makes the identity of a request, which Execute needs, in the arena.
  static TokenedRequest* Describe(model::Value token, std::string_view identity,
                                  base::Arena& arena);

  /// Appends the kept answer, or calls `execute` and keeps what `execute` appends when it succeeds.
  /// When the outcome is not ok, only `execute` may have appended something.
  engine::Outcome Execute(const TokenedRequest& request, engine::Session& session,
                          base::Buffer& out,
                          const std::function<engine::Outcome()>& execute) const {
    return Execute(request, session, out, execute, /*is_unit=*/false);
  }
  /// Executes a unit by `run`, unless its token has taken effect already. A unit that stops keeps
  /// no token.
  engine::Outcome ExecuteUnit(const TokenedRequest& request, Unit& unit, engine::Session& session,
                              base::Buffer& out, const std::function<engine::Outcome()>& run) const;
  /// Finds out what became of the token. `fate` is valid if the outcome is ok.
  engine::Outcome Ask(const TokenedRequest& request, engine::Session& session,
                      TokenFate* fate) const;
  /// The index by token. REQUIRES: ToOpen() is null.
  engine::Index& index() const {
    ROWSOCKET_REQUIRE(ToOpen() == nullptr);
    return *indexes_[0];
  }
  /// Adds what Execute may change besides the row of the request.
  void AddWrites(WriteSet& writes) const;

 private:
  engine::Outcome Execute(const TokenedRequest& request, engine::Session& session,
                          base::Buffer& out, const std::function<engine::Outcome()>& execute,
                          bool is_unit) const;
  engine::Outcome Keep(const TokenedRequest& request, engine::Session& session,
                       std::string_view answer, bool is_unit) const;
  engine::Outcome Purge(engine::Session& session) const;
  engine::Outcome Fence(const TokenedRequest& request, engine::Session& session) const;
  uint64_t NowSeconds() const;
  /// The seconds since 1970 before which a token was kept that has expired `now_s` seconds after
  /// 1970, if a token counts for `ttl_s` seconds.
  uint64_t ExpiredBefore(uint64_t now_s, uint32_t ttl_s) const;
  uint64_t ExpiredBefore(uint64_t now_s) const { return ExpiredBefore(now_s, settings_.ttl_s); }

  const TokenSettings& settings_;
  std::array<std::shared_ptr<engine::Index>, 2> indexes_;  ///< By token; by age.
  model::Error failure_;
};

}  // namespace rowsocket::exec
