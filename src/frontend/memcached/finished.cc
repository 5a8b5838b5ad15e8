// What follows the answer to a request: counters, a flush that is committed, a win that has failed.
#include "frontend/memcached/flush.h"
#include "frontend/memcached/frontend.h"

namespace rowsocket::frontend {

using exec::Item;
using memcached::Command;
using memcached::Verb;
using Stat = MemcachedStat;

namespace {

/// Whether a command with this error counts as one that stores: its line was right.
bool IsCounted(memcached::Error error) {
  return error == memcached::Error::kNone || error == memcached::Error::kBadDataChunk;
}

}  // namespace

void Memcached::CountDetails(const Work& work, bool is_answered) {
  const bool is_get = IsGet(work.command.verb);
  for (const Target& target : work.targets) {
    MemcachedDetails::Counts counts;
    counts.gets = is_get;
    counts.hits = is_get && is_answered && target.was_hit;
    counts.sets = work.command.verb >= Verb::kSet && work.command.verb <= Verb::kPrepend;
    counts.deletes = work.command.verb == Verb::kDelete;
    shared_.details.Add(target.key, counts);
  }
}

/// REQUIRES: the work is of a kRequest item, whose containers still exist.
void Memcached::CountContainers(const Work& work, bool failed) {
  const auto add = [](std::atomic<uint64_t>& counter, uint64_t amount) {
    if (amount != 0) counter.fetch_add(amount, std::memory_order_relaxed);
  };
  for (const Target& target : work.targets) {
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

/// REQUIRES: as CountContainers.
void Memcached::TakeBackWins(const Work& work) {
  if (shared_.marks.empty()) return;
  for (const Target& target : work.targets) {
    if (target.wrong != Target::Wrong::kNothing) continue;
    shared_.marks.TakeBack(target.container->state.get(), target.row_key, work.serial);
  }
}

void Memcached::Finished(const Item& item, const model::Error& answer) {
  if (item.kind == Item::Kind::kRefresh) return;
  Work& work = WorkOf(item);
  if (work.is_nothing) return;
  if (answer.code == model::ErrorCode::kOpenTable || answer.code == model::ErrorCode::kIdxnum ||
      answer.code == model::ErrorCode::kFld) {
    shared_.keyspaces->catalog.Distrust();
  }
  if (item.kind == Item::Kind::kRequest && !answer.ok() && work.serial != 0) TakeBackWins(work);
  const bool flushes = item.kind == Item::Kind::kRequest && work.command.verb == Verb::kFlushAll;
  if (flushes && answer.ok()) FlushFinished(shared_, work);
  // A request that was not committed has done nothing.
  const Tally tally = answer.ok() ? work.tally : Tally{};
  MemcachedCounters& counters = shared_.counters;
  const Command& command = work.command;
  const bool is_refused = command.error != memcached::Error::kNone || !work.refusal.empty();
  const bool is_refusal = answer.ok() && (tally.failed || is_refused);
  if (is_refusal) CountRefusal();
  counters.Add(Stat::kErrors, !answer.ok() || is_refusal);
  if (command.dialect == memcached::Dialect::kMeta) counters.Add(Stat::kMetaCommands);
  counters.Add(Stat::kExpired, IsGet(command.verb) ? tally.expired : 0);
  if (item.kind == Item::Kind::kRequest) CountContainers(work, !answer.ok() || tally.failed);
  switch (command.verb) {
    case Verb::kGat:
      // An mg with T counts as a touch only if it found an item.
      if (command.dialect != memcached::Dialect::kMeta || tally.hits != 0) {
        counters.Add(Stat::kTouches, work.targets.size());
        counters.Add(Stat::kTouchHits, tally.hits);
        counters.Add(Stat::kTouchMisses, tally.misses);
        break;
      }
      [[fallthrough]];
    case Verb::kGet:
      counters.Add(Stat::kGets, work.targets.size());
      counters.Add(Stat::kHits, tally.hits);
      counters.Add(Stat::kMisses, tally.misses);
      break;
    case Verb::kTouch:
      counters.Add(Stat::kTouches);
      counters.Add(Stat::kTouchHits, tally.hits);
      counters.Add(Stat::kTouchMisses, tally.misses);
      break;
    case Verb::kDelete:
      counters.Add(Stat::kDeleteHits, tally.hits);
      counters.Add(Stat::kDeleteMisses, tally.misses + tally.bad_tokens);
      break;
    case Verb::kIncrement:
      counters.Add(Stat::kIncrHits, tally.hits);
      counters.Add(Stat::kIncrMisses, tally.misses);
      break;
    case Verb::kDecrement:
      counters.Add(Stat::kDecrHits, tally.hits);
      counters.Add(Stat::kDecrMisses, tally.misses);
      break;
    case Verb::kSet:
    case Verb::kAdd:
    case Verb::kReplace:
    case Verb::kAppend:
    case Verb::kPrepend:
      if (!IsCounted(command.error)) break;
      counters.Add(Stat::kCmdSet);
      counters.Add(Stat::kSets, tally.stored);
      if (!command.compares_cas) break;
      counters.Add(Stat::kCasHits, tally.stored);
      counters.Add(Stat::kCasMisses, tally.misses);
      counters.Add(Stat::kCasBadval, tally.bad_tokens);
      break;
    case Verb::kFlushAll:
      counters.Add(Stat::kFlushes);
      break;
    default:
      break;
  }
  if (shared_.details.on()) CountDetails(work, answer.ok());
}

}  // namespace rowsocket::frontend
