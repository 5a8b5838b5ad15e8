// What follows the answer to a request: counters, a flush that was committed, marks of a request
// that was not.
#include "frontend/memcached/flush.h"
#include "frontend/memcached/frontend.h"

namespace rowsocket::frontend {

using exec::Item;
using memcached::Command;
using memcached::Verb;
using memcached::VerbKind;

namespace {

/// Whether a command to store with this error is counted: its line was right.
bool IsCounted(memcached::Error error) {
  return error == memcached::Error::kNone || error == memcached::Error::kBadDataChunk;
}

/// Counts what a command with `keys` keys has done, by its verb.
void CountByVerb(MemcachedCounters& counters, const Command& command, size_t keys,
                 const MemcachedTally& tally) {
  // An mg with T counts as a touch only if it found an item.
  const bool missed_by_mg =
      command.verb == Verb::kGat && tally.hits == 0 && command.dialect == memcached::Dialect::kMeta;
  const VerbKind kind = KindOf(command.verb);
  const bool adds = command.verb == Verb::kIncrement;
  switch (missed_by_mg ? VerbKind::kGet : kind) {
    case VerbKind::kGet:
      counters.Add(MemcachedStat::kGets, keys);
      counters.Add(MemcachedStat::kHits, tally.hits);
      counters.Add(MemcachedStat::kMisses, tally.misses);
      break;
    case VerbKind::kTouch:
      counters.Add(MemcachedStat::kTouches, keys);
      counters.Add(MemcachedStat::kTouchHits, tally.hits);
      counters.Add(MemcachedStat::kTouchMisses, tally.misses);
      break;
    case VerbKind::kDelete:
      counters.Add(MemcachedStat::kDeleteHits, tally.hits);
      counters.Add(MemcachedStat::kDeleteMisses, tally.misses + tally.bad_cas);
      break;
    case VerbKind::kCount:
      counters.Add(adds ? MemcachedStat::kIncrHits : MemcachedStat::kDecrHits, tally.hits);
      counters.Add(adds ? MemcachedStat::kIncrMisses : MemcachedStat::kDecrMisses, tally.misses);
      break;
    case VerbKind::kStore:
    case VerbKind::kJoin:
      if (!IsCounted(command.error)) break;
      counters.Add(MemcachedStat::kCmdSet);
      counters.Add(MemcachedStat::kSets, tally.stored);
      if (!command.compares_cas) break;
      counters.Add(MemcachedStat::kCasHits, tally.stored);
      counters.Add(MemcachedStat::kCasMisses, tally.misses);
      counters.Add(MemcachedStat::kCasBadval, tally.bad_cas);
      break;
    case VerbKind::kFlush:
      counters.Add(MemcachedStat::kFlushes);
      break;
    case VerbKind::kDebug:
    case VerbKind::kNoItem:
      break;
  }
}

}  // namespace

void MemcachedFrontend::CountDetails(const MemcachedWork& work, bool is_answered) {
  const bool is_get = IsGet(work.command.verb);
  for (const MemcachedTarget& target : work.targets) {
    MemcachedDetails::Counts counts;
    counts.gets = is_get;
    counts.hits = is_get && is_answered && target.was_hit;
    counts.sets = memcached::HasValue(work.command.verb);
    counts.deletes = work.command.verb == Verb::kDelete;
    shared_.details.Add(target.key, counts);
  }
}

void MemcachedFrontend::CountContainers(const MemcachedWork& work, bool failed) {
  const auto add = [](std::atomic<uint64_t>& counter, uint64_t amount) {
    if (amount != 0) counter.fetch_add(amount, std::memory_order_relaxed);
  };
  for (const MemcachedTarget& target : work.targets) {
    keyspace::ContainerCounters& counters = target.container->state->counters;
    if (failed) {
      add(counters.errors, 1);
    } else if (IsGet(work.command.verb)) {
      add(target.was_hit ? counters.hits : counters.misses, 1);
    } else if (work.command.verb == Verb::kDelete) {
      add(counters.deletes, work.tally.hits);
    } else if (work.command.verb != Verb::kMetaDebug) {
      add(counters.writes, work.tally.hits);
    }
  }
}

void MemcachedFrontend::UndoMarks(const MemcachedWork& work) {
  if (shared_.marks.empty()) return;
  for (const MemcachedTarget& target : work.targets) {
    if (target.wrong != MemcachedTarget::Wrong::kNothing) continue;
    shared_.marks.Undo(target.container->state->serial, target.row_key, work.serial);
  }
}

void MemcachedFrontend::Finished(const Item& item, const model::Error& answer) {
  if (item.kind == Item::Kind::kRefresh) return;
  MemcachedWork& work = MemcachedWorkOf(item);
  if (work.is_nothing) return;
  numbered_finished_ += work.serial != 0;
  if (answer.code == model::ErrorCode::kOpenTable || answer.code == model::ErrorCode::kIdxnum ||
      answer.code == model::ErrorCode::kFld) {
    shared_.keyspaces->catalog.MarkStale();
  }
  if (item.kind == Item::Kind::kRequest && !answer.ok() && work.serial != 0) UndoMarks(work);
  const bool flushes = item.kind == Item::Kind::kRequest && work.command.verb == Verb::kFlushAll;
  if (flushes && answer.ok()) FlushFinished(shared_, work);
  // A request that was not committed has done nothing.
  const MemcachedTally tally = answer.ok() ? work.tally : MemcachedTally{};
  MemcachedCounters& counters = shared_.counters;
  const Command& command = work.command;
  const bool is_refused = command.error != memcached::Error::kNone || !work.refusal.empty();
  const bool is_refusal = answer.ok() && (tally.failed || is_refused);
  if (is_refusal) CountRefusal();
  counters.Add(MemcachedStat::kErrors, !answer.ok() || is_refusal);
  if (command.dialect == memcached::Dialect::kMeta) counters.Add(MemcachedStat::kMetaCommands);
  counters.Add(MemcachedStat::kExpired, IsGet(command.verb) ? tally.expired : 0);
  if (item.kind == Item::Kind::kRequest) CountContainers(work, !answer.ok() || tally.failed);
  CountByVerb(counters, command, work.targets.size(), tally);
  if (shared_.details.on()) CountDetails(work, answer.ok());
}

}  // namespace rowsocket::frontend
