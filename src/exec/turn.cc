#include "exec/turn.h"

#include <algorithm>
#include <new>
#include <thread>

#include "base/clock.h"
#include "base/require.h"
#include "exec/unit.h"

namespace rowsocket::exec {

using Result = engine::Outcome::Result;

namespace {

/// Whether a request is likely to have taken long: it has looked at many rows, may have passed over
/// many deleted rows, or has many values or long ones.
bool MayBeLong(const TurnItem& item, const engine::Outcome& outcome) {
  const model::Find& find = item.item.request.find;
  return find.op != model::CompareOp::kEq || find.limit > model::kShortFindRows ||
         find.offset > model::kShortFindRows || find.in_values.size() > model::kShortFindRows ||
         outcome.rows > model::kShortFindRows || outcome.rows_passed > model::kShortFindRows ||
         item.input_end - item.input_begin > model::kShortLineBytes ||
         outcome.error.code == model::ErrorCode::kResultsize;
}

void CountOpenRows(const engine::OpenRowTally& rows, StatBlock& stats) {
  using engine::ClosedBy;
  stats.Add(Stat::kMergedRows, rows.rows);
  stats.Add(Stat::kMergedRequests, rows.requests);
  const auto closed = [&rows](ClosedBy reason) { return rows.closed[static_cast<size_t>(reason)]; };
  stats.Add(Stat::kRowsClosedFind, closed(ClosedBy::kFind));
  stats.Add(Stat::kRowsClosedWrite, closed(ClosedBy::kWrite));
  stats.Add(Stat::kRowsClosedSameRow, closed(ClosedBy::kSameRow));
  stats.Add(Stat::kRowsClosedForeignKey, closed(ClosedBy::kForeignKey));
  stats.Add(Stat::kRowsClosedLimit, closed(ClosedBy::kLimit));
}

/// Invariant I1: adjacent items of a connection are in the order of its input.
[[maybe_unused]] bool AreInOrder(std::span<const TurnItem> items) {
  return std::ranges::adjacent_find(items, [](const TurnItem& one, const TurnItem& next) {
           return one.client == next.client && one.input_end > next.input_begin;
         }) == items.end();
}

/// What must be so after a turn: each connection is lost, or may send all its replies (invariant
/// I4) and is stopped nowhere, or at one of its own items.
[[maybe_unused]] bool AreAnswered(std::span<const TurnItem> items) {
  return std::ranges::all_of(items, [items](const TurnItem& item) {
    const TurnClient& client = *item.client;
    if (client.loss != Loss::kNone) return true;
    const TurnItem* const at = client.stopped_at;
    const bool is_own = at == nullptr || (at >= items.data() && at < items.data() + items.size() &&
                                          at->client == &client);
    return is_own && !client.out->is_gate_held();
  });
}

}  // namespace

TurnItem& Turn::Add(TurnClient& client) {
  TurnItem& item = items_.emplace_back();
  item.client = &client;
  return item;
}

void Turn::MoveTo(Turn& other, size_t first) {
  for (size_t i = first; i < items_.size(); ++i) other.items_.push_back(std::move(items_[i]));
  items_.erase(items_.begin() + static_cast<ptrdiff_t>(first), items_.end());
}

void Turn::DropAllOf(const TurnClient& client) {
  std::erase_if(items_, [&client](const TurnItem& item) { return item.client == &client; });
}

// Clients decide how much memory a row or a reply takes, and that must not end the server. If
// memory runs out during the commit, its clients do not learn whether it has taken effect.
void Turn::Run(engine::Session& session) {
  is_full_ = false;
  executed_ = 0;
  if (items_.empty()) return;
  ROWSOCKET_REQUIRE(AreInOrder(items_));
  try {
    RunAll(session);
  } catch (const std::bad_alloc&) {
    Lose(session);
  }
  ROWSOCKET_REQUIRE(AreAnswered(items_));
}

void Turn::Lose(engine::Session& session) {
  session.Rollback();
  LoseClients(items_, Loss::kMemory);
}

void Turn::LoseClients(std::span<TurnItem> items, Loss loss) {
  DropReplies(items);
  for (TurnItem& item : items) {
    item.client->loss = loss;
    item.client->stopped_at = nullptr;
  }
}

void Turn::RunAll(engine::Session& session) {
  commit_time_ = kNoCommit;
  must_split_ = has_permanent_ = false;
  pause_us_max_ = kFirstPauseUs;
  began_ms_ = base::CoarseNowMs();
  times_ = {base::NowNs()};
  merges_ = writes_ && rows_.Link(items_);
  stats_.Add(Stat::kTurns);
  if (writes_) {
    stats_.Add(Stat::kBatches);
    stats_.Add(Stat::kBatchRequests, items_.size());
  }
  for (uint32_t attempt = 0; attempt <= model::kBatchRetriesMax;) {
    const bool merged = merges_;
    StartAnew();
    if (RunOnce(session, items_, writes_)) return;
    stats_.Add(Stat::kBatchRetries);
    if (must_split_) break;
    if (was_conflict_ && IsConflictTimeUp()) return GiveUp(session, items_);
    if (!PauseAfterConflict() && merges_ == merged) ++attempt;
  }
  StopMerging();
  StartAnew();
  began_ms_ = base::CoarseNowMs();  // Lost attempts take no time from requests that run alone.
  RunOneByOne(session);
}

void Turn::StartAnew() {
  is_full_ = was_conflict_ = false;
  reply_bytes_ = 0;
}

// Runs all items in one transaction. The replies of a read-only turn, too, are released only at its
// end, so that a lost transaction can run again.
bool Turn::RunOnce(engine::Session& session, std::span<TurnItem> items, bool writes) {
  if (writes) HoldGates(items);
  session.BeginTurn(writes);
  if (!ExecuteAll(session, items)) {
    session.Rollback();
    TakeBack(items);
    return false;
  }
  // There is nothing to commit if all writes wait for locks.
  const bool wrote = writes && std::any_of(items.begin(), items.end(), [](const TurnItem& item) {
                       return item.is_write() && item.is_answered() && !item.gives_way;
                     });
  if (session.WantsAccesses()) TellAccesses(session, items);
  const engine::Outcome outcome = wrote ? CommitWrites(session, items) : EndReads(session);
  const bool is_unknown = outcome.result == Result::kUnknown;
  if (wrote && is_unknown) {
    LoseClients(items, Loss::kUnknown);
    return true;
  }
  was_conflict_ = outcome.result == Result::kConflict;
  if (was_conflict_ || (outcome.result == Result::kMustSplit && MayFitNextTime(items))) {
    must_split_ = !was_conflict_;
    TakeBack(items);
    return false;
  }
  // Without an error, a commit of unknown outcome has lost nothing of a turn that has changed
  // nothing (engine::Outcome::Result).
  const bool is_committed = outcome.ok() || (is_unknown && outcome.error.ok());
  if (is_committed) {
    if (wrote) stats_.Add(Stat::kCommits);
    stats_.Add(Stat::kMergedRows, merged_rows_);
    stats_.Add(Stat::kMergedRequests, merged_requests_);
    CountOpenRows(open_rows_, stats_);
  } else {
    stats_.Add(Stat::kCommitFailures);
    DropReplies(items);
    AnswerAll(items, outcome.error);
  }
  Finish(items);
  return true;
}

void Turn::TakeBack(std::span<TurnItem> items) {
  DropReplies(items);
  for (TurnItem& item : items) item.client->stopped_at = nullptr;
}

engine::Outcome Turn::CommitWrites(engine::Session& session, std::span<const TurnItem> items) {
  times_.executed_ns = base::NowNs();
  times_.commits = true;
  const bool is_seen_early = session.PrepareCommit();
  if (is_seen_early) commits_.Enter(commit_, items);
  struct Leaving {
    ~Leaving() {
      if (is_on_board) board.Leave(commit);
    }
    const bool is_on_board;
    CommitBoard& board;
    CommitUnderWay& commit;
  };
  const Leaving leaving{is_seen_early, commits_, commit_};
  const engine::Outcome outcome = session.Commit();
  times_.ended_ns = base::NowNs();
  commit_time_ = std::chrono::nanoseconds(times_.ended_ns - times_.executed_ns);
  return outcome;
}

engine::Outcome Turn::EndReads(engine::Session& session) {
  const engine::Outcome outcome = session.Commit();
  times_.executed_ns = times_.ended_ns = base::NowNs();
  return outcome;
}

bool Turn::ExecuteAll(engine::Session& session, std::span<TurnItem> items) {
  merged_rows_ = merged_requests_ = 0;
  open_rows_ = {};
  if (!merges_) {
    for (TurnItem& item : items) {
      if (!item.client->stopped() && !ExecuteItem(session, item, items.size() == 1)) return false;
    }
    return true;
  }
  for (TurnItem& item : items) {
    item.progress = TurnItem::Progress::kToDo;
    item.ran_on_open_row = false;
    item.ran_alone = RanAlone::kNot;
  }
  for (TurnItem& item : items) {
    if (item.is_executed() || item.client->stopped()) continue;
    const bool goes_on =
        RunsWithItsRow(item) ? ExecuteAsOneRow(session, item) : ExecuteItem(session, item, false);
    if (!goes_on) return false;
    item.progress = TurnItem::Progress::kExecuted;
  }
  return CloseRows(session);
}

bool Turn::ExecuteItem(engine::Session& session, TurnItem& item, bool alone) {
  TurnClient& client = *item.client;
  base::Buffer& out = client.out->bytes();
  const bool is_reply = item.item.kind == Item::Kind::kReply;
  // A client is never stopped at this item: its reply is small, and it has had its effect on the
  // connection already.
  if (is_reply && !item.item.is_large) {
    client.frontend->Reply(item.item, out);
    return true;
  }
  if (item.is_settled() && !is_reply) {
    ReplySettled(item, out);
    return true;
  }
  // An item that still opens something has met a lock when its names were looked up: otherwise it
  // would be a kReply by now. A login waits because another thread checks it.
  if (!is_reply && item.item.kind != Item::Kind::kRequest)
    item.wait = TurnItem::Wait::kForOpenOrLogin;
  if (item.waits() || (!HasRoomFor(client) && !IsBeforePermanent(item))) {
    client.stopped_at = &item;
    return true;
  }
  const size_t reply_begin = out.size();
  if (is_reply) {
    client.frontend->Reply(item.item, out);
    NoteReply(out.size() - reply_begin);
    if (item.item.is_large) LookAtClock();
    return true;
  }
  const engine::Outcome outcome = client.frontend->Execute(item.item, session, out);
  if (outcome.permanent) {
    item.stands = TurnItem::Stands::kChange;
    has_permanent_ = true;
    item.answer = outcome.error;
    item.kept_reply = out.view().substr(reply_begin);
  }
  if (outcome.transaction_lost) {
    OnLost(item, outcome, alone);
    return false;
  }
  item.ran_on_open_row =
      item.item.unit != nullptr ? item.item.unit->is_merged : outcome.on_open_row;
  const bool is_busy = outcome.result == Result::kBusy;
  if (is_busy && !IsBeforePermanent(item)) {
    item.WaitFor(outcome);
    client.stopped_at = &item;
    return true;
  }
  if (is_busy) client.frontend->ReplyError(item.item, outcome.error, out);
  item.answer = outcome.error;
  item.rows = outcome.rows;
  item.rows_passed = outcome.rows_passed;
  item.gives_way = outcome.result == Result::kGivesWay;
  NoteReply(out.size() - reply_begin);
  if (++executed_ % model::kItemsPerLook == 0 || MayBeLong(item, outcome)) LookAtClock();
  AnswerCommonWait(item, outcome);
  return true;
}

bool Turn::HasRoomFor(const TurnClient& client) const {
  return !is_full_ && client.out->bytes().size() <= client.out_bytes_max;
}

// If the client were stopped at this item, the later item, which stands, would be executed again.
bool Turn::IsBeforePermanent(const TurnItem& item) const {
  if (!has_permanent_) return false;
  return std::any_of(&item, items_.data() + items_.size(), [&item](const TurnItem& each) {
    return each.stands == TurnItem::Stands::kChange && each.client == item.client;
  });
}

// Replies take memory until their turn has ended, in the lane as elsewhere.
void Turn::NoteReply(size_t bytes) {
  reply_bytes_ += bytes;
  is_full_ = is_full_ || reply_bytes_ > model::kTurnReplyBytesMax;
}

// A few long requests would keep all others waiting, even after their client has gone. Requests in
// the lane have waited together and end together, however long that takes.
void Turn::LookAtClock() {
  if (wait_policy_ == WaitPolicy::kAllForOneLock || base::CoarseNowMs() - began_ms_ <= ms_max_)
    return;
  is_full_ = true;
}

// After a deadlock the batch may succeed when it runs again. An item that met another session's
// lock, or KILL, would meet it again: it gets its answer now, and the others run again without it.
void Turn::OnLost(TurnItem& item, const engine::Outcome& outcome, bool alone) {
  item.gives_way = outcome.result == Result::kGivesWay;
  if (outcome.result == Result::kRowLost) return StopMerging();
  if (outcome.result == Result::kBusy && !IsBeforePermanent(item)) {
    item.WaitFor(outcome);
  } else if (outcome.result == Result::kMustSplit && !alone) {
    must_split_ = true;
  } else if (outcome.result == Result::kConflict) {
    was_conflict_ = true;
  } else if (outcome.result != Result::kDeadlock) {
    item.Settle(outcome.error);
    AnswerCommonWait(item, outcome);
  }
}

// An item that waits for the same lock would otherwise begin to wait when this one has given up.
void Turn::AnswerCommonWait(const TurnItem& item, const engine::Outcome& outcome) {
  if (wait_policy_ == WaitPolicy::kNever || !model::EndsWait(outcome.error)) return;
  if (outcome.result == Result::kGivesWay || outcome.waits_elsewhere) return;
  for (TurnItem* each = items_.data() + (&item - items_.data()) + 1;
       each != items_.data() + items_.size(); ++each) {
    if (each->is_settled() || (merges_ && each->is_executed())) continue;
    each->Settle(outcome.error);
    each->gives_way = false;
  }
}

// Items of kind kReply took no part in the transaction: their answers stand.
void Turn::AnswerAll(std::span<TurnItem> items, model::Error error) {
  merges_ = false;  // Nothing is left of what was merged.
  for (TurnItem& item : items) {
    if (!item.is_answered()) continue;
    base::Buffer& out = item.client->out->bytes();
    if (item.item.kind == Item::Kind::kReply) {
      item.client->frontend->Reply(item.item, out);
      continue;
    }
    if (item.is_settled()) {
      ReplySettled(item, out);
      continue;
    }
    item.answer = error;
    if (item.item.unit != nullptr) item.item.unit->ended_at = 0;  // None of its requests failed.
    item.client->frontend->ReplyError(item.item, item.answer, out);
  }
}

void Turn::ReplySettled(const TurnItem& item, base::Buffer& out) {
  // A quiet request that succeeded has an empty reply.
  if (item.answer.ok() || !item.kept_reply.empty())
    out.Append(item.kept_reply);
  else
    item.client->frontend->ReplyError(item.item, item.answer, out);
}

void Turn::RunOneByOne(engine::Session& session) {
  for (TurnItem& item : items_) {
    // A lost client gets no answers any more, so its other requests are not executed.
    const bool is_lost = item.client->loss != Loss::kNone;
    if (!item.client->stopped() && !is_lost) RunAlone(session, item);
  }
}

void Turn::RunAlone(engine::Session& session, TurnItem& item) {
  const std::span<TurnItem> one(&item, 1);
  for (uint32_t attempt = 0; attempt <= model::kBatchRetriesMax;) {
    // A find of the batch runs in a turn that writes as well: in a turn that only reads, its reply
    // would not wait until changes that it has seen are durable.
    if (RunOnce(session, one, writes_)) return;
    stats_.Add(Stat::kBatchRetries);
    is_full_ = false;  // The item alone is to have its answer in this turn.
    if (was_conflict_ && IsConflictTimeUp()) break;
    if (!PauseAfterConflict()) ++attempt;
  }
  GiveUp(session, one);
}

void Turn::GiveUp(engine::Session& session, std::span<TurnItem> items) {
  times_.executed_ns = times_.ended_ns = base::NowNs();
  for (TurnItem& item : items) {
    if (item.is_left() && !item.client->stopped()) item.client->stopped_at = &item;
  }
  AnswerAll(items, {model::ErrorCode::kDeadlock});
  TellAccessesAfterwards(session, items);
  Finish(items);
}

bool Turn::IsConflictTimeUp() const { return base::CoarseNowMs() - began_ms_ > conflict_ms_max_; }

// Without a pause, nodes that write the same row would meet again at once. Pauses of random length
// grow with the number of conflicts of this turn.
bool Turn::PauseAfterConflict() {
  if (!was_conflict_) return false;
  stats_.Add(Stat::kConflicts);
  was_conflict_ = false;
  pause_us_max_ = std::min<int64_t>(2 * pause_us_max_, 1000 * model::kConflictPauseMsMax);
  std::this_thread::sleep_for(std::chrono::microseconds(random_() % pause_us_max_));
  return true;
}

void Turn::HoldGates(std::span<TurnItem> items) {
  for (TurnItem& item : items) {
    if (!item.client->out->is_gate_held()) item.client->out->HoldGate();
  }
}

void Turn::DropReplies(std::span<TurnItem> items) {
  for (TurnItem& item : items) item.client->out->DropGated();
}

}  // namespace rowsocket::exec
