#include "table_opener.h"

#include <algorithm>

#include "foreign_keys.h"
#include "table_locks.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

bool IsName(std::string_view name) {
  return name.size() <= NAME_LEN && name.find('\0') == std::string_view::npos &&
         IsWellFormed(*system_charset_info, name) && IsTableName(name) &&
         !name.starts_with(tmp_file_prefix);
}

/// Whether a row may depend on the time at which its statement began.
bool TellsTime(const TABLE& table) {
  if (HasGenerated(table) || HasChecks(table)) return true;
  return std::any_of(table.field, table.field + table.s->fields, [](const Field* field) {
    return HasOnUpdate(*field) || field->has_insert_default_datetime_value_expression() ||
           field->has_insert_default_general_value_expression() ||
           (field->type() == MYSQL_TYPE_TIMESTAMP && !field->is_nullable());
  });
}

/// Closes what is opened while it lives, unless that is kept: also where memory runs out.
class Opening {
 public:
  explicit Opening(THD* thd)
      : thd_(thd), tables_(thd->open_tables), locks_(thd->mdl_context.mdl_savepoint()) {}
  ~Opening() {
    if (kept_) return;
    while (thd_->open_tables != tables_) close_thread_table(thd_, &thd_->open_tables);
    thd_->mdl_context.rollback_to_savepoint(locks_);
  }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  void Keep() { kept_ = true; }

 private:
  THD* const thd_;
  TABLE* const tables_;
  const MDL_savepoint locks_;
  bool kept_ = false;
};

/// What cannot be right in this table yet, for finds or for writes.
Outcome CheckServed(const TABLE& table, Access access) {
  if (!IsInnodb(table)) return Outcome::Fail(ErrorCode::kUnserved);
  if (access == Access::kRead) return {};
  // With innodb_native_foreign_keys the engine's own foreign keys would be another way to go.
  const bool is_native = !is_sql_fk_checks_enabled(table.in_use);
  return is_native && ServerChecksForeignKeys(table) ? Outcome::Fail(ErrorCode::kUnserved)
                                                     : Outcome();
}

}  // namespace

bool RollsBack(const TABLE& table) { return table.file->has_transactions(); }

Outcome TableOpener::Open(const std::string& db, const std::string& name, OpenTable* open) {
  if (!IsName(db) || !IsName(name)) return Outcome::Fail(ErrorCode::kOpenTable);
  Opening opening(thd_.get());
  const Outcome outcome = OpenInstance(db, name, open);
  if (outcome.ok()) opening.Keep();
  return outcome;
}

Outcome TableOpener::OpenInstance(const std::string& db, const std::string& name, OpenTable* open) {
  const bool writes = open->access == Access::kWrite;
  Outcome outcome = OpenOne(open, db, name, writes ? TL_WRITE : TL_READ, {}, &open->table);
  if (outcome.ok() && writes) outcome = OpenForeignKeyTables(open, open->table, nullptr);
  if (!outcome.ok()) return outcome;
  open->rolls_back = RollsBack(*open->table);
  open->is_innodb = !IsPartitioned(*open->table);
  open->tells_time = TellsTime(*open->table);
  // The memory in which generated columns are computed is the statement's; that of partitions is
  // freed by ha_reset, at the end of each turn.
  open->stays_locked = open->is_innodb && !writes && !HasGenerated(*open->table);
  return {};
}

Outcome TableOpener::OpenOne(OpenTable* open, const std::string& db, const std::string& name,
                             thr_lock_type lock, const std::string& foreign_key, TABLE** table) {
  THD* thd = thd_.get();
  open->names.push_back(std::make_unique<std::string>(db));
  const char* const db_name = open->names.back()->c_str();
  open->names.push_back(std::make_unique<std::string>(name));
  const char* const table_name = open->names.back()->c_str();
  TableReference& list =
      open->list.emplace_back(db_name, db.size(), table_name, name.size(), table_name, lock);
  list.open_type = OT_BASE_ONLY;
  if (!foreign_key.empty()) {
    open->names.push_back(std::make_unique<std::string>(foreign_key));
    list.open_for_fk_name = open->names.back()->c_str();
    list.prelocking_placeholder = true;
  }
  // A view is refused while its definition is read.
  list.required_type = dd::enum_table_type::BASE_TABLE;
  if (thd->mdl_context.acquire_lock(&list.mdl_request, thd->variables.lock_wait_timeout)) {
    return LockFailure(thd_);
  }
  // The metadata lock is ours already; the lock against FLUSH TABLES WITH READ LOCK is taken for
  // each turn that writes, not for as long as the table is open.
  Open_table_context context(thd, MYSQL_OPEN_HAS_MDL_LOCK);
  if (open_table(thd, &list, &context)) return FailureToOpen(&context);
  TABLE* const opened = list.table;
  if (opened == nullptr) return Outcome::Fail(ErrorCode::kView);
  opened->reginfo.lock_type = lock;
  opened->open_for_fk_name = nullptr;  // Until a statement has it locked (Statement::Begin).
  if (opened->s->table_category != TABLE_CATEGORY_USER) {
    return Outcome::Fail(ErrorCode::kSystemTable);
  }
  const Outcome served = CheckServed(*opened, open->access);
  if (!served.ok()) return served;
  open->tables.push_back(opened);
  *table = opened;
  return {};
}

// The tables are those that the server opens for statements of SQL (process_table_fks), here for
// all kinds of writes at once. For a table that refers to itself the server opens another instance
// while it checks a row. `but`: the key by which a cascade has come to this table.
Outcome TableOpener::OpenForeignKeyTables(OpenTable* open, const TABLE* table, const char* but) {
  const TABLE_SHARE& share = *table->s;
  for (uint i = 0; i < share.foreign_keys; ++i) {
    const TABLE_SHARE_FOREIGN_KEY_INFO& key = share.foreign_key[i];
    if (but != nullptr && IsSameColumn(key.fk_name.str, but)) continue;
    const Outcome outcome = OpenForeignKeyTable(open, table, key.referenced_table_db,
                                                key.referenced_table_name, key.fk_name, false);
    if (!outcome.ok()) return outcome;
  }
  for (uint i = 0; i < share.foreign_key_parents; ++i) {
    const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO& key = share.foreign_key_parent[i];
    const Outcome outcome =
        OpenForeignKeyTable(open, table, key.referencing_table_db, key.referencing_table_name,
                            key.fk_name, ChangesChild(key));
    if (!outcome.ok()) return outcome;
  }
  return {};
}

Outcome TableOpener::OpenForeignKeyTable(OpenTable* open, const TABLE* of, const LEX_CSTRING& db,
                                         const LEX_CSTRING& name, const LEX_CSTRING& key,
                                         bool changes) {
  const auto is_it = [&](const TABLE* table) {
    return my_strcasecmp(table_alias_charset, table->s->db.str, db.str) == 0 &&
           my_strcasecmp(table_alias_charset, table->s->table_name.str, name.str) == 0;
  };
  if (is_it(of)) return {};
  const bool is_open =
      std::any_of(open->tables.begin(), open->tables.end(), [&](const TABLE* table) {
        const char* const known = table->pos_in_table_list->open_for_fk_name;
        return known != nullptr && is_it(table) && IsSameColumn(known, key.str);
      });
  if (is_open) return {};
  TABLE* opened = nullptr;
  const Outcome outcome = OpenOne(open, db.str, name.str,
                                  changes ? TL_WRITE : TL_READ_WITH_SHARED_LOCKS, key.str, &opened);
  // With foreign_key_checks=0 the other table may have been dropped.
  if (outcome.error.code == ErrorCode::kOpenTable) return Outcome::Fail(ErrorCode::kUnserved);
  return outcome.ok() && changes ? OpenForeignKeyTables(open, opened, key.str) : outcome;
}

Outcome TableOpener::FailureToOpen(Open_table_context* context) {
  THD* thd = thd_.get();
  const bool retry = context->can_recover_from_failed_open() && !IsKilled(*thd);
  // To recover, the server closes all tables of the session.
  if (retry && thd->open_tables == nullptr && !context->recover_from_failed_open()) {
    thd_.ClearStatement();
    return Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
  }
  const uint number = thd->is_error() ? thd->get_stmt_da()->mysql_errno() : 0;
  Outcome outcome = Outcome::Fail(ErrorCode::kOpenTable);
  if (number == ER_WRONG_OBJECT) outcome = Outcome::Fail(ErrorCode::kView);
  if (number == ER_LOCK_WAIT_TIMEOUT)
    outcome = Outcome::Make(Outcome::Result::kBusy, {ErrorCode::kLockTables});
  else if (number == ER_LOCK_DEADLOCK || retry)
    outcome = Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
  if (IsKilled(*thd)) outcome = Outcome::Fail(ErrorCode::kKilled);
  thd_.ClearStatement();
  return outcome;
}

}  // namespace rowsocket::engine::server
