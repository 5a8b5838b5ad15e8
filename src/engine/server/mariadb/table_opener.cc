#include "engine/server/table_opener.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "references.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

/// A chain of cascading foreign keys longer than this cannot exist (InnoDB's own limit is 15).
constexpr unsigned kCascadeDepthMax = 16;

std::string_view ViewOf(const LEX_CSTRING& text) { return {text.str, text.length}; }

/// Whether the child is open for this key. A cascade that leads back to the table that the client
/// named needs another instance of it, because it does not find the client's.
bool IsOpen(const OpenTable& open, const FOREIGN_KEY_INFO& key, bool cascades) {
  return std::any_of(open.tables.begin(), open.tables.end(), [&](const TABLE* table) {
    const bool may_cascade =
        table->pos_in_table_list->prelocking_placeholder == TABLE_LIST::PRELOCK_FK &&
        table->reginfo.lock_type >= TL_FIRST_WRITE;
    return ViewOf(table->s->db) == ViewOf(*key.foreign_db) &&
           ViewOf(table->s->table_name) == ViewOf(*key.foreign_table) && (!cascades || may_cascade);
  });
}

/// Opens the children of a table. A cascade changes their rows inside the engine: as in SQL, a
/// child is open and locked while its parent is written to, so that no DDL of the child can come
/// between.
Outcome OpenChildren(SessionThd& session, OpenTable* open, TABLE* parent, unsigned depth) {
  if (depth == kCascadeDepthMax) return {};
  List<FOREIGN_KEY_INFO> keys;
  References& references = open->own.references.emplace_back(References{parent, {}});
  if (!ListReferences(session.get(), parent, &keys, &references.keys)) {
    session.ClearStatement();
    return Outcome::Fail(ErrorCode::kOpenTable);
  }
  List_iterator<FOREIGN_KEY_INFO> next(keys);
  while (const FOREIGN_KEY_INFO* key = next++) {
    const bool cascades =
        fk_modifies_child(key->delete_method) || fk_modifies_child(key->update_method);
    if (IsOpen(*open, *key, cascades)) continue;
    TABLE* child = nullptr;
    // A child that does not exist must leave no lock behind, because no check would notice that the
    // lock is in another session's way.
    OpenGuard opening(session.get());
    Outcome outcome =
        OpenOneTable(session, open, ViewOf(*key->foreign_db), ViewOf(*key->foreign_table),
                     cascades ? TL_FIRST_WRITE : TL_READ, key->foreign_id->str, &child);
    if (!outcome.ok()) return outcome;
    if (child == nullptr) continue;
    opening.Keep();
    if (!cascades) continue;
    outcome = OpenChildren(session, open, child, depth + 1);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

}  // namespace

TableReference& MakeReference(OpenTable* open, std::string_view db, std::string_view name,
                              thr_lock_type lock, const char* foreign_key) {
  TableReference& list = open->list.emplace_back();
  const LEX_CSTRING db_name{open->Keep(db), db.size()};
  const LEX_CSTRING table_name{open->Keep(name), name.size()};
  list.init_one_table(&db_name, &table_name, &table_name, lock);
  // A view is refused while its definition is read: opening one here would crash the server.
  list.i_s_requested_object = OPEN_TABLE_ONLY;
  // A cascade that must compute a virtual column looks for the child by this mark
  // (find_fk_open_table).
  if (foreign_key != nullptr) list.prelocking_placeholder = TABLE_LIST::PRELOCK_FK;
  // A table partitioned BY SYSTEM_TIME ... AUTO that is opened for writes would be marked as one
  // whose opener adds the partition that is due, and SQL would wait for that without an end.
  list.vers_skip_create = current_thd->query_id;
  MDL_REQUEST_INIT(&list.mdl_request, MDL_key::TABLE, db_name.str, table_name.str,
                   lock >= TL_FIRST_WRITE ? MDL_SHARED_WRITE : MDL_SHARED_READ, MDL_TRANSACTION);
  my_errno = 0;  // SaysNoTable must not see the error of an earlier call.
  return list;
}

// The server says that there is no such table for whatever reason it could not read the definition,
// so my_errno decides.
bool SaysNoTable(unsigned number) {
  const bool cannot_tell = my_errno == EMFILE || my_errno == ENFILE || my_errno == EACCES ||
                           my_errno == EIO || my_errno == ENOMEM;
  return number == ER_NO_SUCH_TABLE && !cannot_tell;
}

// As in SQL, a child may have been dropped or renamed since the foreign keys were listed:
// Tables::TakeLock looks whether another child refers to the parent by now.
bool MayBeMissing(unsigned number) {
  return number == ER_NO_SUCH_TABLE_IN_ENGINE || SaysNoTable(number);
}

Outcome CheckServed(TABLE& table, Access) {
  table.grant.privilege = ALL_KNOWN_ACL;
  if (table.s->table_type == TABLE_TYPE_SEQUENCE || table.s->sequence != nullptr) {
    return Outcome::Fail(ErrorCode::kSequence);
  }
  if (table.s->table_category != TABLE_CATEGORY_USER) {
    return Outcome::Fail(ErrorCode::kSystemTable);
  }
  // SQL's HANDLER refuses these engines, too. The children of a MERGE table, for example, are not
  // open.
  if ((table.file->ha_table_flags() & HA_CAN_SQL_HANDLER) == 0) {
    return Outcome::Fail(ErrorCode::kTableEngine);
  }
  return {};
}

Outcome OpenForeignKeyTables(SessionThd& thd, OpenTable* open) {
  return OpenChildren(thd, open, open->table, 0);
}

}  // namespace rowsocket::engine::server
