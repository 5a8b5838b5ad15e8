// How the items of a turn end: what is counted of those that have their final answers, and when
// the gates of their clients open.
#include <iterator>

#include "exec/turn.h"
#include "exec/unit.h"
#include "model/error_number.h"

namespace rowsocket::exec {

namespace {

Stat VerbStat(const model::Request& request) {
  if (request.verb == model::Request::Verb::kInsert) return Stat::kInserts;
  if (request.verb == model::Request::Verb::kEdit) return Stat::kUpdates;
  constexpr Stat kByModification[] = {Stat::kFinds, Stat::kUpdates, Stat::kDeletes,
                                      Stat::kIncrements, Stat::kIncrements};
  static_assert(std::size(kByModification) == model::kModifications);
  return kByModification[static_cast<size_t>(request.find.modification)];
}

void CountUnit(const Unit& unit, const model::Error& answer, StatBlock& stats) {
  stats.Add(Stat::kGroups);
  if (!answer.ok()) return stats.Add(Stat::kGroupsFailed);
  if (unit.end == Unit::End::kStopped) return stats.Add(Stat::kGroupsStopped);
  if (unit.is_merged) stats.Add(Stat::kGroupsMerged);
  for (const UnitRequest& one : unit.requests) stats.Add(VerbStat(one.request));
  stats.Add(unit.writes ? Stat::kRowsWritten : Stat::kRowsRead, unit.rows);
}

void CountInStats(const Item& item, const model::Error& answer, uint64_t rows, StatBlock& stats) {
  if (!answer.ok()) {
    stats.Add(ErrorStat(answer.code));
    const bool is_engine = answer.code == model::ErrorCode::kEngine;
    if (is_engine && model::IsForAdministrators(answer.number)) stats.Add(Stat::kEngineFailures);
    if (is_engine && model::IsTaken(answer.number)) stats.Add(Stat::kDuplicates);
  }
  if (item.unit != nullptr) {
    CountUnit(*item.unit, answer, stats);
  } else if (item.kind == Item::Kind::kRequest) {
    const Stat rows_stat = item.request.is_write() ? Stat::kRowsWritten : Stat::kRowsRead;
    stats.Add(VerbStat(item.request));
    if (answer.ok()) stats.Add(rows_stat, rows);
  } else if (item.names != nullptr) {
    stats.Add(Stat::kOpens);
  } else if (item.is_auth_reply) {
    stats.Add(Stat::kAuthsTried);
    stats.Add(answer.ok() ? Stat::kAuths : Stat::kAuthsFailed);
  }
}

}  // namespace

void EndItem(const Item& item, const model::Error& answer, uint64_t rows, Frontend& frontend,
             StatBlock& stats) {
  CountInStats(item, answer, rows, stats);
  frontend.CountAnswer(!answer.ok());
  frontend.Finished(item, answer);
}

void Turn::Finish(std::span<TurnItem> items) {
  for (TurnItem& item : items) {
    if (item.is_answered() && !item.gives_way) FinishItem(item);
    item.client->out->OpenGate();
  }
}

void Turn::FinishThoseThatGiveWay(engine::Session& session) {
  for (TurnItem& item : items_) item.gives_way = false;
  TellAccessesAfterwards(session, items_);
  for (TurnItem& item : items_) {
    if (item.is_answered() && !item.is_finished()) FinishItem(item);
  }
}

void Turn::FinishItem(TurnItem& item) {
  item.progress = TurnItem::Progress::kFinished;
  const bool is_request = item.item.kind == Item::Kind::kRequest;
  const model::Error& answer = is_request ? item.answer : item.item.error;
  if (item.ran_alone != RanAlone::kNot) stats_.Add(UnmergedStat(item.ran_alone));
  EndItem(item.item, answer, item.rows, *item.client->frontend, stats_);
}

}  // namespace rowsocket::exec
