#include "exec/token_book.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <string>

#include "base/clock.h"
#include "exec/unit.h"
#include "exec/write_set.h"
#include "model/limits.h"

namespace rowsocket::exec {

using model::CellChange;
using model::Decision;
using model::ErrorCode;
using model::Value;

namespace {

/// The longest time that was given to TokenBook::KeepFor.
std::atomic<uint32_t> rows_kept_s{0};

/// The time of something that has not happened yet.
constexpr uint64_t kNeverSeconds = UINT64_MAX;

/// When a purge of expired tokens last cost a transaction or a unit, usually for another session's
/// lock.
std::atomic<uint64_t> purge_lost_s{kNeverSeconds};

/// Whether tokens are not purged at the moment, because a purge has cost a transaction or a
/// unit.
bool PurgePauses(uint64_t now_s) {
  const uint64_t lost_s = purge_lost_s.load(std::memory_order_relaxed);
  return lost_s != kNeverSeconds && now_s - lost_s < model::kTokenPurgePauseS;
}

/// The seconds since the machine's start, with those for which it was suspended.
uint64_t RunningSeconds() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec);
}

enum Column : uint32_t { kRequest, kAnswer, kCreated };
enum Place : size_t { kByToken, kByAge };

const std::array<engine::IndexNames, 2>& Names() {
  static const std::array<engine::IndexNames, 2> names{{
      {"rowsocket", "tokens", "PRIMARY", {"request", "answer", "created"}, {}},
      {"rowsocket", "tokens", "created", {}, {}},
  }};
  return names;
}

uint64_t ToNumber(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Whether a token counts as never used: it has no row, or an expired one.
bool IsNew(std::span<const Value> row, uint64_t expired_before_s) {
  return row.empty() || ToNumber(row[kCreated].text()) < expired_before_s;
}

/// Looks at a token's row and leaves it as it is.
class TokenLooker final : public model::RowEditor {
 public:
  TokenLooker(const TokenedRequest& request, uint64_t expired_before_s, base::Buffer& out)
      : request_(request), expired_before_s_(expired_before_s), out_(out), begin_(out.size()) {}

  enum class Found : uint8_t { kNothing, kAnswer, kAnother };
  Found found() const { return found_; }

  Decision Decide(std::span<const Value> row, std::span<const CellChange>*) override {
    out_.Truncate(begin_);
    found_ = Found::kNothing;
    if (IsNew(row, expired_before_s_)) return Decision::kKeep;
    found_ = row[kRequest].text() == request_.text ? Found::kAnswer : Found::kAnother;
    if (found_ == Found::kAnswer) out_.Append(row[kAnswer].text());
    return Decision::kKeep;
  }

 private:
  const TokenedRequest& request_;
  const uint64_t expired_before_s_;
  base::Buffer& out_;
  const size_t begin_;
  Found found_ = Found::kNothing;
};

/// Tells what became of a token. A token that is fenced has a row without a request.
class TokenTeller final : public model::RowEditor {
 public:
  TokenTeller(uint64_t expired_before_s, TokenFate* fate)
      : expired_before_s_(expired_before_s), fate_(fate) {}

  Decision Decide(std::span<const Value> row, std::span<const CellChange>*) override {
    *fate_ = {};
    if (IsNew(row, expired_before_s_)) return Decision::kKeep;
    fate_->state = row[kRequest].text().empty() ? TokenState::kNever : TokenState::kDone;
    fate_->request = row[kRequest].text();
    fate_->answer = row[kAnswer].text();
    return Decision::kKeep;
  }

 private:
  const uint64_t expired_before_s_;
  TokenFate* const fate_;
};

/// Keeps a token that is still new. A row that is absent locks nothing, so that another session may
/// have kept the token since TokenLooker looked.
class TokenKeeper final : public model::RowEditor {
 public:
  TokenKeeper(const TokenedRequest& request, std::string_view answer, std::string_view now_s,
              uint64_t expired_before_s)
      : expired_before_s_(expired_before_s),
        changes_{
            {{kRequest, Value(request.text)}, {kAnswer, Value(answer)}, {kCreated, Value(now_s)}}} {
  }

  bool came_too_late() const { return came_too_late_; }

  Decision Decide(std::span<const Value> row, std::span<const CellChange>* changes) override {
    came_too_late_ = !IsNew(row, expired_before_s_);
    if (came_too_late_) return Decision::kKeep;
    *changes = changes_;
    return Decision::kStore;
  }

 private:
  const uint64_t expired_before_s_;
  const std::array<CellChange, 3> changes_;
  bool came_too_late_ = false;
};

/// The error that clients get: token_table if the table of tokens is missing, or has other
/// columns.
model::Error OfTokenTable(const model::Error& error) {
  const bool is_gone =
      IsNoTable(error) || error.code == ErrorCode::kIdxnum || error.code == ErrorCode::kFld;
  return is_gone ? model::Error{ErrorCode::kTokenTable} : error;
}

engine::Outcome Deadlock() {
  return engine::Outcome::Make(engine::Outcome::Result::kDeadlock, {ErrorCode::kDeadlock});
}

/// The outcome if the whole transaction has to be taken back.
engine::Outcome Lost(engine::Outcome outcome) {
  outcome.transaction_lost = true;
  return outcome;
}

engine::Outcome Edit(engine::Session& session, engine::Index& index, const Value& token,
                     model::RowEditor& editor, const model::Account* account = nullptr) {
  static constexpr uint32_t kAll[] = {kRequest, kAnswer, kCreated};
  model::Request request;
  request.account = account;
  request.edit.may_insert = account != nullptr;
  if (account != nullptr) request.edit.may_update = kAll;
  request.verb = model::Request::Verb::kEdit;
  request.edit.key = {&token, 1};
  request.edit.editor = &editor;
  model::NoRows no_rows;
  engine::Outcome outcome = session.Execute(index, request, no_rows);
  outcome.error = OfTokenTable(outcome.error);
  outcome.waits_elsewhere = !outcome.ok();
  return outcome;
}

}  // namespace

std::string_view NameOf(TokenState state) {
  return state == TokenState::kDone ? "done" : state == TokenState::kUnknown ? "unknown" : "never";
}

CalendarWatch::CalendarWatch()
    : ahead_s_(base::CalendarSeconds() - static_cast<int64_t>(RunningSeconds())) {}

const std::shared_ptr<CalendarWatch>& CalendarWatch::OfLibrary() {
  static const auto watch = std::make_shared<CalendarWatch>();
  return watch;
}

// The jump is noted first: a thread that finds the calendar no longer gaining finds the jump.
uint64_t CalendarWatch::SecondsSinceJump(uint64_t calendar_s, uint64_t running_s) {
  const int64_t ahead_s = static_cast<int64_t>(calendar_s) - static_cast<int64_t>(running_s);
  if (ahead_s - ahead_s_.load() > model::kCalendarJumpS) jumped_s_.store(running_s);
  ahead_s_.store(ahead_s);
  const uint64_t jumped_s = jumped_s_.load();
  return jumped_s == kNoJump ? kNoJump : running_s - std::min(running_s, jumped_s);
}

void TokenBook::KeepFor(uint32_t ttl_s) {
  uint32_t longest_s = rows_kept_s.load(std::memory_order_relaxed);
  while (longest_s < ttl_s &&
         !rows_kept_s.compare_exchange_weak(longest_s, ttl_s, std::memory_order_relaxed)) {
  }
}

const engine::IndexNames* TokenBook::ToOpen() const {
  for (size_t i = 0; i < indexes_.size(); ++i) {
    if (indexes_[i] == nullptr) return &Names()[i];
  }
  return nullptr;
}

void TokenBook::Opened(const engine::Outcome& outcome, std::shared_ptr<engine::Index> index) {
  failure_ = OfTokenTable(outcome.error);
  if (index == nullptr && failure_.ok()) failure_.code = ErrorCode::kInternal;
  for (auto& place : indexes_) {
    if (index == nullptr || place != nullptr) continue;
    place = std::move(index);
    return;
  }
}

TokenedRequest* TokenBook::Describe(Value token, std::string_view identity, base::Arena& arena) {
  TokenedRequest& made = arena.Allocate<TokenedRequest>(1)[0];
  made.token = token;
  made.text = arena.Copy(identity);
  return &made;
}

uint64_t TokenBook::NowSeconds() const {
  return settings_.now_s ? settings_.now_s() : static_cast<uint64_t>(base::CalendarSeconds());
}

// A clock that is wrong may be near 1970: nothing has expired then.
uint64_t TokenBook::ExpiredBefore(uint64_t now_s, uint32_t ttl_s) const {
  const uint64_t running_s = settings_.running_s ? settings_.running_s() : RunningSeconds();
  if (settings_.calendar->SecondsSinceJump(now_s, running_s) < ttl_s) return 0;
  return now_s - std::min<uint64_t>(now_s, ttl_s);
}

engine::Outcome TokenBook::Execute(const TokenedRequest& request, engine::Session& session,
                                   base::Buffer& out,
                                   const std::function<engine::Outcome()>& execute,
                                   bool is_unit) const {
  const size_t begin = out.size();
  TokenLooker looker(request, ExpiredBefore(NowSeconds()), out);
  // A unit has taken its locks by now.
  const bool refuses = session.WaitsForLocks() && session.HoldsRows();
  engine::Outcome outcome;
  {
    const engine::RefusedWaits refused(session, refuses);
    outcome = Edit(session, *indexes_[kByToken], request.token, looker);
  }
  if (refuses && outcome.result == engine::Outcome::Result::kBusy) {
    const bool is_lost = outcome.transaction_lost;
    outcome = engine::Outcome::Make(engine::Outcome::Result::kGivesWay, {ErrorCode::kLockWait});
    outcome.transaction_lost = is_lost;
  }
  if (!outcome.ok()) {
    out.Truncate(begin);
    return outcome;
  }
  if (outcome.permanent) {
    // The table of tokens cannot take rows back, so that a token would stay whose request is gone.
    out.Truncate(begin);
    return engine::Outcome::Fail(ErrorCode::kTokenTable);
  }
  // The answer is durable when the turn has ended, even if another session kept the token just now
  // (S3).
  if (looker.found() == TokenLooker::Found::kAnswer) return {};
  if (looker.found() == TokenLooker::Found::kAnother) {
    return engine::Outcome::Fail(ErrorCode::kTokenDiffers);
  }
  outcome = execute();
  if (!outcome.ok()) return outcome;
  const engine::Outcome kept = Keep(request, session, out.view().substr(begin), is_unit);
  if (kept.ok()) return outcome;
  if (outcome.permanent) {
    // The request cannot be taken back either: its answer stands, and it is not to run again with
    // the others.
    outcome.transaction_lost = kept.transaction_lost;
    return outcome;
  }
  // The request has taken effect without its token, and only the whole transaction can be taken
  // back.
  out.Truncate(begin);
  return Lost(kept);
}

engine::Outcome TokenBook::ExecuteUnit(const TokenedRequest& request, Unit& unit,
                                       engine::Session& session, base::Buffer& out,
                                       const std::function<engine::Outcome()>& run) const {
  const auto run_unit = [&] {
    const engine::Outcome ran = run();
    return unit.end == Unit::End::kStopped ? engine::Outcome::Fail(ErrorCode::kGroup) : ran;
  };
  const engine::Outcome outcome = Execute(request, session, out, run_unit, /*is_unit=*/true);
  if (unit.end == Unit::End::kStopped) return {};
  if (outcome.ok()) unit.end = Unit::End::kApplied;
  return outcome;
}

engine::Outcome TokenBook::Ask(const TokenedRequest& request, engine::Session& session,
                               TokenFate* fate) const {
  TokenTeller teller(ExpiredBefore(NowSeconds()), fate);
  engine::Outcome outcome = Edit(session, *indexes_[kByToken], request.token, teller);
  const bool fences = outcome.ok() && fate->state == TokenState::kUnknown &&
                      request.asks == TokenedRequest::Asks::kFence;
  if (!fences) return outcome;
  outcome = Fence(request, session);
  fate->state = TokenState::kNever;
  return outcome;
}

engine::Outcome TokenBook::Fence(const TokenedRequest& request, engine::Session& session) const {
  const uint64_t now_s = NowSeconds();
  const std::string created_s = std::to_string(now_s);
  TokenedRequest nothing = request;
  nothing.text = {};
  TokenKeeper keeper(nothing, "", created_s, ExpiredBefore(now_s));
  const engine::Outcome kept =
      Edit(session, *indexes_[kByToken], request.token, keeper, request.account);
  if (!kept.ok() || !keeper.came_too_late()) return kept;
  return Lost(Deadlock());
}

void TokenBook::AddWrites(WriteSet& writes) const { writes.AddAnyRow(*indexes_[kByToken]); }

engine::Outcome TokenBook::Keep(const TokenedRequest& request, engine::Session& session,
                                std::string_view answer, bool is_unit) const {
  const uint64_t now_s = NowSeconds();
  const std::string created_s = std::to_string(now_s);
  TokenKeeper keeper(request, answer, created_s, ExpiredBefore(now_s));
  // The request holds its rows by now, which others want: they are given back where the token's row
  // would have to be waited for.
  const bool waits = session.WaitsForLocks();
  engine::Outcome kept;
  {
    const engine::RefusedWaits refused(session);
    kept = Edit(session, *indexes_[kByToken], request.token, keeper);
  }
  if (waits && kept.result == engine::Outcome::Result::kBusy) {
    kept = engine::Outcome::Make(engine::Outcome::Result::kGivesWay, {ErrorCode::kLockWait});
  } else if (kept.ok() && keeper.came_too_late()) {
    kept = Deadlock();
  }
  if (!kept.ok()) return kept;
  // Expired tokens that cannot be removed now are removed later. A failed statement has changed
  // nothing (S2); inside a unit, however, the whole unit is taken back. A session that waits for
  // locks leaves expired tokens to others, because its wait would keep others from the row of the
  // request.
  if (session.WaitsForLocks()) return kept;
  if (PurgePauses(now_s)) return kept;
  const engine::Outcome purged = Purge(session);
  if (purged.ok() || (!purged.transaction_lost && !is_unit)) return kept;
  if (purged.transaction_lost && purged.result != engine::Outcome::Result::kBusy) return purged;
  // Where a purge takes the turn back (for a lock: innodb_rollback_on_timeout), nothing of the
  // request is locked, and it may well succeed when it runs again without a purge.
  purge_lost_s.store(now_s, std::memory_order_relaxed);
  return Lost(Deadlock());
}

engine::Outcome TokenBook::Purge(engine::Session& session) const {
  const uint32_t kept_s = std::max(settings_.ttl_s, rows_kept_s.load(std::memory_order_relaxed));
  const std::string oldest_s = std::to_string(ExpiredBefore(NowSeconds(), kept_s));
  const Value key{std::string_view(oldest_s)};
  model::Request request;
  request.find.op = model::CompareOp::kLt;
  request.find.key = {&key, 1};
  request.find.key_parts_given = 1;
  request.find.limit = model::kTokensPurgedAtOnce;
  request.find.modification = model::Modification::kDelete;
  model::NoRows no_rows;
  return session.Execute(*indexes_[kByAge], request, no_rows);
}

}  // namespace rowsocket::exec
