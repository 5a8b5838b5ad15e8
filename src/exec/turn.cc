#include "exec/turn.h"

#include "model/limits.h"

namespace rowsocket::exec {

namespace {

/// The storage engine's number for a deadlock (HA_ERR_LOCK_DEADLOCK).
constexpr int kDeadlock = 149;

Stat VerbStat(const model::Request& request) {
  if (request.verb == model::Request::Verb::kInsert) return Stat::kInserts;
  switch (request.find.modification) {
    case model::Modification::kNone: return Stat::kFinds;
    case model::Modification::kUpdate: return Stat::kUpdates;
    case model::Modification::kDelete: return Stat::kDeletes;
    default: return Stat::kIncrements;
  }
}

}  // namespace

TurnItem& Turn::Add(TurnClient& client) {
  TurnItem& item = items_.emplace_back();
  item.client = &client;
  return item;
}

void Turn::Run(engine::Session& session) {
  if (items_.empty()) return;
  too_large_ = false;
  stats_.Add(Stat::kTurns);
  if (writes_) {
    stats_.Add(Stat::kBatches);
    stats_.Add(Stat::kBatchRequests, items_.size());
  }
  for (uint32_t attempt = 0; attempt <= model::kBatchRetriesMax; ++attempt) {
    if (RunOnce(session, items_, writes_) != Result::kLost) return;
    stats_.Add(Stat::kBatchRetries);
    if (too_large_) break;
  }
  RunOneByOne(session);
}

// The replies of a read-only turn are released as well only when it has ended, so that a lost
// transaction can be run again.
Turn::Result Turn::RunOnce(engine::Session& session, std::span<TurnItem> items, bool writes) {
  if (writes) Hold(items);
  session.BeginTurn(writes);
  for (TurnItem& item : items) {
    if (item.client->stopped()) continue;
    if (!ExecuteItem(session, item, items.size() == 1)) {
      session.Rollback();
      Drop(items);
      // What waits is found out again, now that other requests may be in other places.
      for (TurnItem& each : items) each.client->stopped_at = nullptr;
      return Result::kLost;
    }
  }
  const engine::Outcome commit = session.Commit();
  if (commit.ok()) {
    if (writes) stats_.Add(Stat::kCommits);
    Open(items);
    return Result::kCommitted;
  }
  stats_.Add(Stat::kCommitFailures);
  Drop(items);
  AnswerAll(items, commit.error);
  Open(items);
  return Result::kFailed;
}

bool Turn::ExecuteItem(engine::Session& session, TurnItem& item, bool alone) {
  TurnClient& client = *item.client;
  base::Buffer& out = client.out->bytes();
  if (out.size() > client.out_bytes_max) {
    client.stopped_at = &item;
    return true;
  }
  if (item.item.kind == Item::Kind::kReply) {
    client.frontend->Reply(item.item, out);
    return true;
  }
  if (item.fixed) {
    client.frontend->ReplyError(item.item, item.item.error, out);
    return true;
  }
  if (item.item.kind == Item::Kind::kOpen || item.waits) {  // Found to wait before, or by Open.
    item.waits = true;
    client.stopped_at = &item;
    return true;
  }
  const engine::Outcome outcome = client.frontend->Execute(item.item, session, out);
  if (outcome.transaction_lost) {
    OnLost(item, outcome, alone);
    return false;
  }
  if (outcome.busy) {
    item.waits = true;
    client.stopped_at = &item;
    return true;
  }
  Count(item, outcome);
  return true;
}

// A deadlock may end well when the batch runs again. A lock that is held elsewhere, or KILL, would
// only repeat: that item gets its answer now, the others run again without it.
void Turn::OnLost(TurnItem& item, const engine::Outcome& outcome, bool alone) {
  if (outcome.busy) {
    item.waits = true;
  } else if (outcome.too_large && !alone) {
    too_large_ = true;
  } else if (outcome.error != model::Error::Engine(kDeadlock)) {
    item.fixed = true;
    item.item.error = outcome.error;
    Count(item, outcome);
  }
}

// Items of kind kReply took no part in the transaction: their answers stand.
void Turn::AnswerAll(std::span<TurnItem> items, model::Error error) {
  for (TurnItem& item : items) {
    if (item.client->stopped()) continue;
    base::Buffer& out = item.client->out->bytes();
    if (item.item.kind == Item::Kind::kReply) {
      item.client->frontend->Reply(item.item, out);
    } else {
      item.client->frontend->ReplyError(item.item, error, out);
      stats_.Add(ErrorStat(error.code));
    }
  }
}

void Turn::RunOneByOne(engine::Session& session) {
  for (size_t i = 0; i < items_.size(); ++i) {
    const std::span<TurnItem> one(&items_[i], 1);
    const bool writes = IsWrite(items_[i]);
    Result result = Result::kLost;
    for (uint32_t attempt = 0; attempt <= model::kBatchRetriesMax; ++attempt) {
      if (items_[i].client->stopped()) break;
      result = RunOnce(session, one, writes);
      if (result != Result::kLost) break;
      stats_.Add(Stat::kBatchRetries);
    }
    if (items_[i].client->stopped() || result != Result::kLost) continue;
    AnswerAll(one, model::Error::Engine(kDeadlock));
    Open(one);
  }
}

void Turn::Hold(std::span<TurnItem> items) {
  for (TurnItem& item : items) {
    if (!item.client->out->held()) item.client->out->HoldGate();
  }
}

void Turn::Open(std::span<TurnItem> items) {
  for (TurnItem& item : items) item.client->out->OpenGate();
}

void Turn::Drop(std::span<TurnItem> items) {
  for (TurnItem& item : items) item.client->out->DropGated();
}

void Turn::Count(const TurnItem& item, const engine::Outcome& outcome) {
  const model::Request& request = item.item.request;
  stats_.Add(VerbStat(request));
  if (!outcome.ok()) {
    stats_.Add(ErrorStat(outcome.error.code));
  } else {
    stats_.Add(request.is_write() ? Stat::kRowsWritten : Stat::kRowsRead, outcome.rows);
  }
}

}  // namespace rowsocket::exec
