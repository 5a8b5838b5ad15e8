#include "engine/server/table_opener.h"

#include <algorithm>

#include "cascades.h"
#include "engine/server/table_locks.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

/// What cannot be right in this table yet, for finds or for writes.
Outcome CheckServed(const TABLE& table, Access access) {
  if (!IsInnodb(table)) return Outcome::Fail(ErrorCode::kUnserved);
  if (access == Access::kRead) return {};
  // With innodb_native_foreign_keys the engine's own foreign keys would be another way to go.
  const bool is_native = !is_sql_fk_checks_enabled(table.in_use);
  return is_native && ServerChecksForeignKeys(table) ? Outcome::Fail(ErrorCode::kUnserved)
                                                     : Outcome();
}

/// Prepares the reference by which the table is opened. `foreign_key`: the key for whose sake it is
/// opened; empty for the instance itself.
TableReference& Refer(OpenTable* open, const std::string& db, const std::string& name,
                      thr_lock_type lock, const std::string& foreign_key) {
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
  return list;
}

Outcome OpenOne(WorkerThd& worker, OpenTable* open, const std::string& db, const std::string& name,
                thr_lock_type lock, const std::string& foreign_key, TABLE** table) {
  THD* thd = worker.get();
  TableReference& list = Refer(open, db, name, lock, foreign_key);
  if (thd->mdl_context.acquire_lock(&list.mdl_request, thd->variables.lock_wait_timeout)) {
    return LockFailure(worker);
  }
  // The metadata lock is ours already; the lock against FLUSH TABLES WITH READ LOCK is taken for
  // each turn that writes, not for as long as the table is open.
  Open_table_context context(thd, MYSQL_OPEN_HAS_MDL_LOCK);
  if (open_table(thd, &list, &context)) return FailureToOpen(worker, &context);
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

Outcome OpenForeignKeyTables(WorkerThd& worker, OpenTable* open, const TABLE* table,
                             const char* but);

Outcome OpenForeignKeyTable(WorkerThd& worker, OpenTable* open, const TABLE* of,
                            const LEX_CSTRING& db, const LEX_CSTRING& name, const LEX_CSTRING& key,
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
  const Outcome outcome = OpenOne(worker, open, db.str, name.str,
                                  changes ? TL_WRITE : TL_READ_WITH_SHARED_LOCKS, key.str, &opened);
  // With foreign_key_checks=0 the other table may have been dropped.
  if (outcome.error.code == ErrorCode::kOpenTable) return Outcome::Fail(ErrorCode::kUnserved);
  return outcome.ok() && changes ? OpenForeignKeyTables(worker, open, opened, key.str) : outcome;
}

// The tables are those that the server opens for statements of SQL (process_table_fks), here for
// all kinds of writes at once. For a table that refers to itself the server opens another instance
// while it checks a row. `but`: the key by which a cascade has come to this table.
Outcome OpenForeignKeyTables(WorkerThd& worker, OpenTable* open, const TABLE* table,
                             const char* but) {
  const TABLE_SHARE& share = *table->s;
  for (uint i = 0; i < share.foreign_keys; ++i) {
    const TABLE_SHARE_FOREIGN_KEY_INFO& key = share.foreign_key[i];
    if (but != nullptr && IsSameColumn(key.fk_name.str, but)) continue;
    const Outcome outcome = OpenForeignKeyTable(worker, open, table, key.referenced_table_db,
                                                key.referenced_table_name, key.fk_name, false);
    if (!outcome.ok()) return outcome;
  }
  for (uint i = 0; i < share.foreign_key_parents; ++i) {
    const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO& key = share.foreign_key_parent[i];
    const Outcome outcome =
        OpenForeignKeyTable(worker, open, table, key.referencing_table_db,
                            key.referencing_table_name, key.fk_name, ChangesChild(key));
    if (!outcome.ok()) return outcome;
  }
  return {};
}

}  // namespace

Outcome OpenWithForeignKeys(WorkerThd& thd, const std::string& db, const std::string& name,
                            OpenTable* open) {
  const bool writes = open->access == Access::kWrite;
  const Outcome outcome =
      OpenOne(thd, open, db, name, writes ? TL_WRITE : TL_READ, {}, &open->table);
  return outcome.ok() && writes ? OpenForeignKeyTables(thd, open, open->table, nullptr) : outcome;
}

}  // namespace rowsocket::engine::server
