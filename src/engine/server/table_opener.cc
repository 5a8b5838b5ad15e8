#include "engine/server/table_opener.h"

#include <algorithm>

#include "engine/server/innodb_read_only.h"
#include "engine/server/table_locks.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

/// Whether the name is UTF-8. For another name MariaDB would open the file of another table,
/// without the locks of that table.
bool IsName(std::string_view name) {
  return name.size() <= NAME_LEN && name.find('\0') == std::string_view::npos &&
         IsWellFormed(*system_charset_info, name) && IsTableName(name) && !IsMysql50Name(name) &&
         !name.starts_with(tmp_file_prefix);
}

/// Whether a row may depend on the time at which its statement began.
bool DependsOnTime(const TABLE& table) {
  if (HasGenerated(table) || HasChecks(table) || HasComputedDefaults(table)) return true;
  // NULL for a TIMESTAMP that is NOT NULL is the current time in MariaDB, and may be in MySQL.
  return std::any_of(table.field, table.field + table.s->fields, [](const Field* field) {
    return field->type() == MYSQL_TYPE_TIMESTAMP && !IsNullable(*field);
  });
}

bool HasFullText(const TABLE* table) {
  return std::any_of(table->key_info, table->key_info + table->s->keys, IsFullText);
}

/// The error for a table that the server has not opened.
model::Error NotOpened(unsigned number) {
  if (number == ER_WRONG_OBJECT) return {ErrorCode::kView};
  if (SaysNoTable(number)) return {ErrorCode::kOpenTable};
  return model::Error::CannotOpen(number != 0 ? static_cast<int>(number) : HA_ERR_GENERIC);
}

/// Why the server's open_table has failed. Afterwards the THD can go on.
Outcome FailureToOpen(SessionThd& session, Open_table_context* context) {
  THD* thd = session.get();
  const bool retry = context->can_recover_from_failed_open() && !IsKilled(*thd);
  // To recover, the server closes all tables of the session. It may repair the table, which takes
  // the longer the larger the table is: if this session may not take that time, the request goes to
  // one that may.
  const bool recovers = retry && session.may_repair() && thd->open_tables == nullptr;
  if (recovers && !context->recover_from_failed_open()) {
    session.ClearStatement();
    return Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
  }
  const uint number = ErrorNumberOf(*thd);
  Outcome outcome = Outcome::Of(NotOpened(number));
  if (number == ER_LOCK_WAIT_TIMEOUT)
    outcome = Outcome::Make(Outcome::Result::kBusy, {ErrorCode::kLockTables});
  else if (number == ER_LOCK_DEADLOCK || retry)
    outcome = Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
  if (IsKilled(*thd)) outcome = Outcome::Fail(ErrorCode::kKilled);
  session.ClearStatement();
  return outcome;
}

Outcome OpenWithForeignKeys(SessionThd& thd, const std::string& db, const std::string& name,
                            OpenTable* open) {
  const bool writes = open->access == Access::kWrite;
  const Outcome outcome =
      OpenOneTable(thd, open, db, name, writes ? TL_WRITE : TL_READ, nullptr, &open->table);
  return outcome.ok() && writes ? OpenForeignKeyTables(thd, open) : outcome;
}

}  // namespace

OpenGuard::~OpenGuard() {
  if (kept_) return;
  while (thd_->open_tables != tables_) close_thread_table(thd_, &thd_->open_tables);
  thd_->mdl_context.rollback_to_savepoint(locks_);
}

Outcome OpenTableInstance(SessionThd& thd, const std::string& db, const std::string& name,
                          OpenTable* open) {
  if (!IsName(db) || !IsName(name)) return Outcome::Fail(ErrorCode::kOpenTable);
  OpenGuard opening(thd.get());
  const Outcome outcome = OpenWithForeignKeys(thd, db, name, open);
  if (!outcome.ok()) return outcome;
  const TABLE& table = *open->table;
  open->rolls_back = RollsBack(table);
  open->is_innodb = !IsPartitioned(table) && IsInnodb(table);
  open->depends_on_time = DependsOnTime(table);
  open->has_full_text =
      open->rolls_back && std::any_of(open->tables.begin(), open->tables.end(), HasFullText);
  // The lock does not stay where the statement's memory is used: for generated columns, and for
  // partitions, whose part of it ha_reset frees at the end of each turn.
  open->stays_locked = open->is_innodb && open->access == Access::kRead && !HasGenerated(table) &&
                       !(kReadOnlyNeedsLocks && InnodbIsReadOnly());
  opening.Keep();
  return {};
}

Outcome OpenOneTable(SessionThd& session, OpenTable* open, std::string_view db,
                     std::string_view name, thr_lock_type lock, const char* foreign_key,
                     TABLE** table) {
  THD* thd = session.get();
  TableReference& list = MakeReference(open, db, name, lock, foreign_key);
  if (thd->mdl_context.acquire_lock(&list.mdl_request, thd->variables.lock_wait_timeout)) {
    return LockFailure(session);
  }
  // This session has the metadata lock already; it takes the lock against FLUSH TABLES WITH READ
  // LOCK for each turn that writes, not for as long as the table is open.
  Open_table_context context(thd, MYSQL_OPEN_HAS_MDL_LOCK);
  if (open_table(thd, &list, &context)) {
    if (foreign_key == nullptr || !MayBeMissing(ErrorNumberOf(*thd))) {
      return FailureToOpen(session, &context);
    }
    open->list.pop_back();
    session.ClearStatement();
    return {};
  }
  TABLE* const opened = list.table;
  if (opened == nullptr) return Outcome::Fail(ErrorCode::kView);
  opened->reginfo.lock_type = lock;
  const Outcome served = CheckServed(*opened, open->access);
  if (!served.ok()) return served;
  open->tables.push_back(opened);
  *table = opened;
  return {};
}

}  // namespace rowsocket::engine::server
