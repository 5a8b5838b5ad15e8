#include "engine/server/tables.h"

#include <algorithm>

#include "base/clock.h"
#include "engine/server/cluster.h"
#include "engine/server/cluster_node.h"
#include "engine/server/foreign_keys.h"
#include "engine/server/table_opener.h"
#include "model/limits.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

bool IsSystemSchema(std::string_view db) {
  static constexpr std::string_view kSchemas[] = {"mysql", "information_schema",
                                                  "performance_schema", "sys"};
  return std::any_of(std::begin(kSchemas), std::end(kSchemas), [&](std::string_view schema) {
    return schema.size() == db.size() && strncasecmp(schema.data(), db.data(), db.size()) == 0;
  });
}

Outcome Tables::Open(const std::string& db, const std::string& name, Access access,
                     OpenTable** out) {
  std::string key;  // MySQL's names may have any separator but NUL.
  key.reserve(db.size() + name.size() + 2);
  key.append(1, access == Access::kWrite ? 'w' : 'r').append(db).append(1, '\0').append(name);
  const auto found = by_name_.try_emplace(std::move(key)).first;
  // An entry without a table: memory ran out while the table was opened.
  if (found->second == nullptr) {
    auto open = std::make_unique<OpenTable>();
    open->access = access;
    const Outcome outcome = IsSystemSchema(db) ? Outcome::Fail(ErrorCode::kSystemTable)
                                               : OpenTableInstance(thd_, db, name, open.get());
    if (!outcome.ok()) {
      by_name_.erase(found);
      return outcome;
    }
    has_session_expressions_ |= HasSessionExpressions(*open->table);
    found->second = std::move(open);
  }
  *out = found->second.get();
  return {};
}

void Tables::BeginTurn(bool writes) {
  ++turn_;
  locks_stay_ = !writes;
  if (writes && !locked_.empty()) UnlockAll();
}

Outcome Tables::TakeLock(OpenTable& open) {
  THD* thd = thd_.get();
  if (open.lock != nullptr) {
    const int error = Resume(open);
    if (error == 0) return {};
    Unlock(open);
  }
  if (open.access == Access::kWrite) {
    const Outcome outcome = locks_.TakeBackupLock(*open.table);
    if (!outcome.ok()) return outcome;
    // Asked after the backup lock was taken, because SET GLOBAL read_only waits for this lock.
    if (IsReadOnly())
      return Outcome::Of(model::Error::ServerReadOnly(ER_OPTION_PREVENTS_STATEMENT));
    // A write to a table that the cluster does not replicate would be done only on this node, and
    // the nodes would silently differ.
    if (IsClusterNode() && !Cluster::Replicates(*open.table)) {
      return Outcome::Fail(ErrorCode::kGalera);
    }
    if (ReferencesChanged(thd, open)) {
      out_of_date_ = true;
      thd_.ClearStatement();
      return Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
    }
  }
  locked_.reserve(locked_.size() + 1);
  // Aria would take part in the turn's transaction, even for a find, and because Aria cannot
  // prepare, the transaction could not be prepared in any engine. Without OPTION_BEGIN Aria commits
  // at the end of the statement.
  const ulonglong begin = open.rolls_back ? 0 : thd->variables.option_bits & OPTION_BEGIN;
  thd->variables.option_bits &= ~begin;
  open.lock = LockTables(thd, open.tables, open.stays_locked);
  thd->variables.option_bits |= begin;
  if (open.lock == nullptr) return LockFailure(thd_);
  open.used_in = turn_;
  locked_.push_back(&open);
  if (open.access == Access::kRead || open.rolls_back) return {};
  const Outcome outcome = locks_.TakeStatementCommitLock(open);
  if (!outcome.ok()) Unlock(open);
  return outcome;
}

// The lock stayed from an earlier turn: InnoDB is told that another statement begins.
int Tables::Resume(OpenTable& open) {
  handler* file = open.table->file;
  const int error = file->start_stmt(thd_.get(), TL_READ);
  if (error != 0) return error;
  ResumeKeyRead(*open.table);  // start_stmt forgets it.
  open.used_in = turn_;
  return 0;
}

// ha_reset also lets go of what handlers have put into the statement's memory, which is freed next.
void Tables::ReleaseLock(OpenTable& open) {
  UnlockTables(thd_.get(), open.lock, open.stays_locked);
  open.lock = nullptr;
  locks_.ReleaseStatementCommitLock(open);
  if (open.changed) ForgetQueries(thd_.get(), open.table);
  open.changed = false;
  for (TABLE* table : open.tables) {
    FreeValuesAbove(*table, model::kKeptValueBytesMax);
    table->file->ha_reset();
    ForgetGenerated(*table);
  }
}

void Tables::Unlock(OpenTable& open) {
  if (open.lock == nullptr) return;
  open.EndScan();
  // A statement on another table may be open: thd->lock is then the lock of its tables, which its
  // row events name.
  THD* thd = thd_.get();
  if (thd->lock == open.lock) thd->lock = nullptr;
  ReleaseLock(open);
  locked_.erase(std::remove(locked_.begin(), locked_.end(), &open), locked_.end());
}

void OpenTable::EndScan() {
  EndKeyRead(*table);
  table->file->ha_index_or_rnd_end();
  positioned_for = 0;
}

void Tables::EndScans() {
  for (OpenTable* open : locked_) {
    if (!Stays(*open)) open->EndScan();
  }
}

void Tables::UnlockAll() {
  KeepNoLocksBeyondTurn();
  EndScans();
  EndTurn();
}

// The server frees the large values of columns when it closes a table. This session may keep a
// table open for days, even if its lock stays.
void Tables::EndTurn() {
  THD* thd = thd_.get();
  std::erase_if(locked_, [this](OpenTable* open) {
    if (!Stays(*open)) {
      ReleaseLock(*open);
      return true;
    }
    if (open->used_in == turn_) FreeValuesAbove(*open->table, model::kKeptValueBytesMax);
    return false;
  });
  thd->lock = nullptr;
  locks_.ReleaseBackupLocks();
}

void Tables::ResetWriters() {
  for (OpenTable* open : locked_) {
    if (open->access == Access::kRead) continue;
    for (TABLE* table : open->tables) table->file->ha_reset();
  }
}

// A turn may take less time than a look at the locks, so there is one look in each tick of the
// coarse clock.
void Tables::CloseIfWanted() {
  if (out_of_date_ || has_session_expressions_ || by_name_.size() > model::kSessionTablesMax) {
    return CloseAll();
  }
  const int64_t now_ms = base::CoarseNowMs();
  if (now_ms == looked_ms_) return;
  looked_ms_ = now_ms;
  if (locks_.OthersWaitForTables()) return CloseAll();
  FlushStatistics(now_ms);
}

void Tables::FlushStatistics(int64_t now_ms) {
  const int64_t now_s = now_ms / 1000;
  if (now_s == statistics_flushed_s_) return;
  statistics_flushed_s_ = now_s;
  for (TABLE* table = thd_.get()->open_tables; table != nullptr; table = table->next) {
    PublishStatistics(*table);
  }
}

void Tables::CloseAll() {
  UnlockAll();
  locks_.CloseTables();
  by_name_.clear();
  out_of_date_ = has_session_expressions_ = false;
  ++generation_;
}

}  // namespace rowsocket::engine::server
