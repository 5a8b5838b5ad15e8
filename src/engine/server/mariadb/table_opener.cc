#include "table_opener.h"

#include <algorithm>

#include "engine/server/innodb_read_only.h"
#include "foreign_keys.h"
#include "table_locks.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

/// A chain of cascading foreign keys longer than this cannot exist (InnoDB's own limit is 15).
constexpr unsigned kCascadeDepthMax = 16;

/// For a name that is not UTF-8 the server would open the file of another table, without the locks
/// of that table.
bool IsName(std::string_view name) {
  const bool is_text =
      Well_formed_prefix(system_charset_info, name.data(), name.size()).length() == name.size();
  return is_text && name.size() <= NAME_LEN && IsTableName(name) &&
         !name.starts_with(MYSQL50_TABLE_NAME_PREFIX) && !name.starts_with(tmp_file_prefix);
}

/// Whether a row may depend on the time at which its statement began.
bool TellsTime(const TABLE& table) {
  if (table.default_field != nullptr || table.vfield != nullptr ||
      table.check_constraints != nullptr) {
    return true;
  }
  // NULL for a TIMESTAMP that is NOT NULL is the current time.
  return std::any_of(table.field, table.field + table.s->fields, [](const Field* field) {
    return field->type() == MYSQL_TYPE_TIMESTAMP && !field->real_maybe_null();
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

}  // namespace

bool RollsBack(const TABLE& table) {
  return table.file->has_transactions() &&
         (table.file->partition_ht()->flags & HTON_NO_ROLLBACK) == 0;
}

Outcome TableOpener::Open(const std::string& db, const std::string& name, OpenTable* open) {
  if (!IsName(db) || !IsName(name)) return Outcome::Fail(ErrorCode::kOpenTable);
  Opening opening(thd_.get());
  const Outcome outcome = OpenInstance(db, name, open);
  if (outcome.ok()) opening.Keep();
  return outcome;
}

Outcome TableOpener::OpenInstance(const std::string& db, const std::string& name, OpenTable* open) {
  const bool writes = open->access == Access::kWrite;
  Outcome outcome = OpenOne(open, db, name, writes ? TL_WRITE : TL_READ, false, &open->table);
  if (!outcome.ok()) return outcome;
  open->rolls_back = RollsBack(*open->table);
  open->is_innodb =
      open->table->part_info == nullptr && open->table->file->ht->db_type == DB_TYPE_INNODB;
  open->tells_time = TellsTime(*open->table);
  // The memory in which generated columns are computed is the statement's.
  // Where InnoDB is read only it takes the isolation that finds rows there, READ UNCOMMITTED, only
  // when a table is locked (innodb_isolation_level in ha_innodb.cc).
  open->stays_locked =
      open->is_innodb && !writes && open->table->vfield == nullptr && !InnodbIsReadOnly();
  if (writes) outcome = OpenForeignKeyChildren(open, open->table, true, true, 0);
  return outcome;
}

Outcome TableOpener::OpenOne(OpenTable* open, std::string_view db, std::string_view name,
                             thr_lock_type lock, bool for_foreign_key, TABLE** table) {
  THD* thd = thd_.get();
  TableReference& list = open->list.emplace_back();
  open->names.push_back(std::make_unique<std::string>(db));
  const LEX_CSTRING db_name{open->names.back()->c_str(), db.size()};
  open->names.push_back(std::make_unique<std::string>(name));
  const LEX_CSTRING table_name{open->names.back()->c_str(), name.size()};
  list.init_one_table(&db_name, &table_name, &table_name, lock);
  // A view is refused while its definition is read: opening one here would crash the server.
  list.i_s_requested_object = OPEN_TABLE_ONLY;
  // A cascade that must compute a virtual column looks for the child by this mark
  // (find_fk_open_table).
  if (for_foreign_key) list.prelocking_placeholder = TABLE_LIST::PRELOCK_FK;

  MDL_REQUEST_INIT(&list.mdl_request, MDL_key::TABLE, db_name.str, table_name.str,
                   lock >= TL_FIRST_WRITE ? MDL_SHARED_WRITE : MDL_SHARED_READ, MDL_TRANSACTION);
  if (thd->mdl_context.acquire_lock(&list.mdl_request, thd->variables.lock_wait_timeout)) {
    return LockFailure(thd_);
  }
  // The metadata lock is ours already; the lock against FLUSH TABLES WITH READ LOCK is taken for
  // each turn that writes, not for as long as the table is open.
  Open_table_context context(thd, MYSQL_OPEN_HAS_MDL_LOCK);
  if (open_table(thd, &list, &context)) {
    return FailureToOpen(&context, open, for_foreign_key);
  }
  TABLE* opened = list.table;
  if (opened == nullptr) return Outcome::Fail(ErrorCode::kView);
  opened->reginfo.lock_type = lock;
  opened->grant.privilege = ALL_KNOWN_ACL;
  if (opened->s->table_type == TABLE_TYPE_SEQUENCE || opened->s->sequence != nullptr) {
    return Outcome::Fail(ErrorCode::kSequence);
  }
  if (opened->s->table_category != TABLE_CATEGORY_USER) {
    return Outcome::Fail(ErrorCode::kSystemTable);
  }
  // SQL's HANDLER refuses these engines as well: for one, the children of a MERGE table are not
  // open.
  if ((opened->file->ha_table_flags() & HA_CAN_SQL_HANDLER) == 0) {
    return Outcome::Fail(ErrorCode::kTableEngine);
  }
  open->tables.push_back(opened);
  *table = opened;
  return {};
}

Outcome TableOpener::FailureToOpen(Open_table_context* context, OpenTable* open,
                                   bool for_foreign_key) {
  THD* thd = thd_.get();
  const bool retry = context->can_recover_from_failed_open() && !thd->killed;
  if (retry && thd->open_tables == nullptr && !context->recover_from_failed_open()) {
    thd_.ClearStatement();
    return Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
  }
  const uint number = thd->is_error() ? thd->get_stmt_da()->sql_errno() : 0;
  if (for_foreign_key && (number == ER_NO_SUCH_TABLE || number == ER_NO_SUCH_TABLE_IN_ENGINE)) {
    // The child was dropped or renamed since the foreign keys were listed, as happens to SQL:
    // TakeLock looks whether another child refers to the parent by now.
    open->list.pop_back();
    thd_.ClearStatement();
    return {};
  }
  Outcome outcome = Outcome::Fail(ErrorCode::kOpenTable);
  if (number == ER_WRONG_OBJECT) outcome = Outcome::Fail(ErrorCode::kView);
  if (number == ER_LOCK_WAIT_TIMEOUT)
    outcome = Outcome::Make(Outcome::Result::kBusy, {ErrorCode::kLockTables});
  else if (number == ER_LOCK_DEADLOCK || retry)
    outcome = Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
  if (thd->killed) outcome = Outcome::Fail(ErrorCode::kKilled);
  thd_.ClearStatement();
  return outcome;
}

// A cascade changes rows of the child inside the engine: as SQL does, the child is open and locked
// while its parent is written to, so that no DDL of the child can come between.
Outcome TableOpener::OpenForeignKeyChildren(OpenTable* open, TABLE* parent, bool deletes,
                                            bool updates, unsigned depth) {
  if (depth == kCascadeDepthMax) return {};
  List<FOREIGN_KEY_INFO> keys;
  References& references = open->references.emplace_back(References{parent, {}});
  if (!ListReferences(thd_.get(), parent, &keys, &references.keys)) {
    thd_.ClearStatement();
    return Outcome::Fail(ErrorCode::kOpenTable);
  }
  List_iterator<FOREIGN_KEY_INFO> next(keys);
  while (FOREIGN_KEY_INFO* key = next++) {
    const bool cascades = (deletes && fk_modifies_child(key->delete_method)) ||
                          (updates && fk_modifies_child(key->update_method));
    const std::string_view db(key->foreign_db->str, key->foreign_db->length);
    const std::string_view name(key->foreign_table->str, key->foreign_table->length);
    // A cascade does not find the table that the client named, so that a cascade which leads back
    // to it has another instance.
    const bool known = std::any_of(open->tables.begin(), open->tables.end(), [&](TABLE* table) {
      const bool may_cascade =
          table->pos_in_table_list->prelocking_placeholder == TABLE_LIST::PRELOCK_FK &&
          table->reginfo.lock_type >= TL_FIRST_WRITE;
      return std::string_view(table->s->db.str, table->s->db.length) == db &&
             std::string_view(table->s->table_name.str, table->s->table_name.length) == name &&
             (!cascades || may_cascade);
    });
    if (known) continue;
    TABLE* child = nullptr;
    // A child that is not there must leave no lock behind: no check would notice that the lock is
    // in another session's way.
    Opening opening(thd_.get());
    Outcome outcome = OpenOne(open, db, name, cascades ? TL_FIRST_WRITE : TL_READ, true, &child);
    if (!outcome.ok()) return outcome;
    if (child == nullptr) continue;
    opening.Keep();
    if (!cascades) continue;
    outcome = OpenForeignKeyChildren(open, child, true, true, depth + 1);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

}  // namespace rowsocket::engine::server
