#include "engine/server/table_opener.h"

#include <algorithm>

#include "cascades.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

Outcome OpenTablesOfKeys(SessionThd& session, OpenTable* open, const TABLE* table,
                         const char* except_key);

/// Opens the other table of a foreign key of `table`. `changes`: a cascade changes that other
/// table.
Outcome OpenOtherTable(SessionThd& session, OpenTable* open, const TABLE* table,
                       const LEX_CSTRING& other_db, const LEX_CSTRING& other_name,
                       const LEX_CSTRING& key, bool changes) {
  const auto is_other = [&](const TABLE* candidate) {
    const TABLE_SHARE& share = *candidate->s;
    return my_strcasecmp(table_alias_charset, share.db.str, other_db.str) == 0 &&
           my_strcasecmp(table_alias_charset, share.table_name.str, other_name.str) == 0;
  };
  if (is_other(table)) return {};
  const bool is_open =
      std::any_of(open->tables.begin(), open->tables.end(), [&](const TABLE* candidate) {
        const char* const known = candidate->pos_in_table_list->open_for_fk_name;
        return known != nullptr && is_other(candidate) && IsSameName(known, key.str);
      });
  if (is_open) return {};
  TABLE* opened = nullptr;
  const Outcome outcome =
      OpenOneTable(session, open, other_db.str, other_name.str,
                   changes ? TL_WRITE : TL_READ_WITH_SHARED_LOCKS, key.str, &opened);
  // With foreign_key_checks=0 the other table may have been dropped.
  if (outcome.error.code == ErrorCode::kOpenTable) return Outcome::Fail(ErrorCode::kUnserved);
  return outcome.ok() && changes ? OpenTablesOfKeys(session, open, opened, key.str) : outcome;
}

// The tables are those that the server opens for statements of SQL (process_table_fks), here for
// all kinds of writes at once. For a table that refers to itself the server opens another instance
// while it checks a row. `except_key`: the key by which a cascade has come to this table.
Outcome OpenTablesOfKeys(SessionThd& session, OpenTable* open, const TABLE* table,
                         const char* except_key) {
  const TABLE_SHARE& share = *table->s;
  for (uint i = 0; i < share.foreign_keys; ++i) {
    const TABLE_SHARE_FOREIGN_KEY_INFO& key = share.foreign_key[i];
    if (except_key != nullptr && IsSameName(key.fk_name.str, except_key)) continue;
    const Outcome outcome = OpenOtherTable(session, open, table, key.referenced_table_db,
                                           key.referenced_table_name, key.fk_name, false);
    if (!outcome.ok()) return outcome;
  }
  for (uint i = 0; i < share.foreign_key_parents; ++i) {
    const TABLE_SHARE_FOREIGN_KEY_PARENT_INFO& key = share.foreign_key_parent[i];
    const Outcome outcome =
        OpenOtherTable(session, open, table, key.referencing_table_db, key.referencing_table_name,
                       key.fk_name, ChangesChild(key));
    if (!outcome.ok()) return outcome;
  }
  return {};
}

}  // namespace

TableReference& MakeReference(OpenTable* open, std::string_view db, std::string_view name,
                              thr_lock_type lock, const char* foreign_key) {
  const char* const db_name = open->Keep(db);
  const char* const table_name = open->Keep(name);
  TableReference& list =
      open->list.emplace_back(db_name, db.size(), table_name, name.size(), table_name, lock);
  list.open_type = OT_BASE_ONLY;
  if (foreign_key != nullptr) {
    list.open_for_fk_name = open->Keep(foreign_key);
    list.prelocking_placeholder = true;
  }
  // A view is refused while its definition is read.
  list.required_type = dd::enum_table_type::BASE_TABLE;
  return list;
}

bool MayBeMissing(unsigned) { return false; }

bool SaysNoTable(unsigned number) {
  return number == ER_NO_SUCH_TABLE || number == ER_BAD_DB_ERROR;
}

Outcome CheckServed(TABLE& table, Access access) {
  table.open_for_fk_name = nullptr;  // Until a statement locks the table (Statement::Begin).
  if (table.s->table_category != TABLE_CATEGORY_USER) {
    return Outcome::Fail(ErrorCode::kSystemTable);
  }
  if (!IsInnodb(table)) return Outcome::Fail(ErrorCode::kUnserved);
  // SQL masks such columns above the handler, depending on the role of the client.
  const bool is_masked = std::any_of(table.field, table.field + table.s->fields,
                                     [](const Field* each) { return each->has_masking_policy(); });
  if (is_masked) return Outcome::Fail(ErrorCode::kUnserved);
  if (access == Access::kRead) return {};
  // With innodb_native_foreign_keys the engine, and not the server, checks foreign keys, which is
  // not served.
  const bool is_native = !is_sql_fk_checks_enabled(table.in_use);
  return is_native && ServerChecksForeignKeys(table) ? Outcome::Fail(ErrorCode::kUnserved)
                                                     : Outcome();
}

Outcome OpenForeignKeyTables(SessionThd& thd, OpenTable* open) {
  return OpenTablesOfKeys(thd, open, open->table, nullptr);
}

}  // namespace rowsocket::engine::server
