#include "engine/server/tables.h"

#include <algorithm>

#include "base/clock.h"
#include "model/limits.h"
#include "replication.h"

namespace rowsocket::engine::server {

namespace {

using model::ErrorCode;

/// A chain of cascading foreign keys longer than this cannot exist (InnoDB's own limit is 15).
constexpr unsigned kCascadeDepthMax = 16;

bool IsSystemSchema(std::string_view db) {
  static constexpr std::string_view kSchemas[] = {"mysql", "information_schema",
                                                  "performance_schema", "sys"};
  return std::any_of(std::begin(kSchemas), std::end(kSchemas), [&](std::string_view schema) {
    return schema.size() == db.size() && strncasecmp(schema.data(), db.data(), db.size()) == 0;
  });
}

/// Of a name that is no UTF-8 the server would open the file of another, without that one's locks.
bool IsName(std::string_view name) {
  const bool is_text =
      Well_formed_prefix(system_charset_info, name.data(), name.size()).length() == name.size();
  return is_text && name.size() <= NAME_LEN && !check_table_name(name.data(), name.size(), true) &&
         !name.starts_with(MYSQL50_TABLE_NAME_PREFIX) && !name.starts_with(tmp_file_prefix);
}

/// The foreign keys that refer to the table, and what tells them from others. False: out of memory.
bool ListReferences(THD* thd, TABLE* table, List<FOREIGN_KEY_INFO>* keys, std::string* text) {
  text->clear();
  if (!table->file->referenced_by_foreign_key()) return true;
  table->file->get_parent_foreign_key_list(thd, keys);
  if (thd->is_error()) return false;
  List_iterator<FOREIGN_KEY_INFO> next(*keys);
  while (const FOREIGN_KEY_INFO* key = next++) {
    for (const LEX_CSTRING* name : {key->foreign_db, key->foreign_table, key->foreign_id}) {
      text->append(name->str, name->length).append(1, '/');
    }
    text->append(1, static_cast<char>('0' + key->delete_method));
    text->append(1, static_cast<char>('0' + key->update_method));
  }
  return true;
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

/// What is opened meanwhile is closed again, unless it is kept: also where memory runs out.
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

Outcome Tables::LockFailure() {
  THD* thd = thd_.get();
  Outcome outcome = Outcome::Fail(ErrorCode::kLockTables);
  if (thd->killed != NOT_KILLED) {
    outcome = Outcome::Fail(ErrorCode::kKilled);
  } else if (thd->is_error()) {
    const uint number = thd->get_stmt_da()->sql_errno();
    if (number == ER_LOCK_DEADLOCK) outcome.result = Outcome::Result::kGivesWay;
    if (number == ER_LOCK_WAIT_TIMEOUT) outcome.result = Outcome::Result::kBusy;
  }
  thd_.ClearStatement();
  return outcome;
}

Outcome Tables::Open(const std::string& db, const std::string& name, Access access,
                     OpenTable** out) {
  std::string key;
  key.reserve(db.size() + name.size() + 2);
  key.append(1, access == Access::kWrite ? 'w' : 'r').append(db).append(1, '/').append(name);
  auto found = by_name_.find(key);
  if (found == by_name_.end()) {
    if (IsSystemSchema(db)) return Outcome::Fail(ErrorCode::kSystemTable);
    if (!IsName(db) || !IsName(name)) return Outcome::Fail(ErrorCode::kOpenTable);
    auto open = std::make_unique<OpenTable>();
    open->access = access;
    Opening opening(thd_.get());
    const Outcome outcome = OpenInstance(db, name, open.get());
    if (!outcome.ok()) return outcome;
    found = by_name_.emplace(std::move(key), std::move(open)).first;
    opening.Keep();
  }
  *out = found->second.get();
  return {};
}

Outcome Tables::OpenInstance(const std::string& db, const std::string& name, OpenTable* open) {
  const bool writes = open->access == Access::kWrite;
  Outcome outcome = OpenOne(open, db, name, writes ? TL_WRITE : TL_READ, false, &open->table);
  if (!outcome.ok()) return outcome;
  open->rolls_back = RollsBack(*open->table);
  open->is_innodb =
      open->table->part_info == nullptr && open->table->file->ht->db_type == DB_TYPE_INNODB;
  open->tells_time = TellsTime(*open->table);
  // What generated columns are computed with lies in the statement's memory.
  open->stays_locked = open->is_innodb && !writes && open->table->vfield == nullptr;
  if (writes) outcome = OpenForeignKeyChildren(open, open->table, true, true, 0);
  return outcome;
}

Outcome Tables::OpenOne(OpenTable* open, std::string_view db, std::string_view name,
                        thr_lock_type lock, bool for_foreign_key, TABLE** table) {
  THD* thd = thd_.get();
  TABLE_LIST& list = open->list.emplace_back();
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
    return LockFailure();
  }
  // The metadata lock is ours already; the lock against FLUSH TABLES WITH READ LOCK is taken for
  // each turn that writes, not for as long as the table is open.
  Open_table_context context(thd, MYSQL_OPEN_HAS_MDL_LOCK);
  if (open_table(thd, &list, &context)) {
    const bool retry = context.can_recover_from_failed_open() && !thd->killed;
    if (retry && thd->open_tables == nullptr && !context.recover_from_failed_open()) {
      thd_.ClearStatement();
      return Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
    }
    const uint number = thd->is_error() ? thd->get_stmt_da()->sql_errno() : 0;
    if (for_foreign_key && (number == ER_NO_SUCH_TABLE || number == ER_NO_SUCH_TABLE_IN_ENGINE)) {
      // Dropped or renamed since the foreign keys were listed, as happens to SQL: TakeLock looks
      // whether one refers to the parent by now.
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
  // What SQL's HANDLER refuses as well. A MERGE table's children, for one, are not open.
  if ((opened->file->ha_table_flags() & HA_CAN_SQL_HANDLER) == 0) {
    return Outcome::Fail(ErrorCode::kTableEngine);
  }
  open->tables.push_back(opened);
  *table = opened;
  return {};
}

// A cascade changes rows of the child inside the engine: as SQL does, the child is open and locked
// while its parent is written to, so that no DDL of the child can come between.
Outcome Tables::OpenForeignKeyChildren(OpenTable* open, TABLE* parent, bool deletes, bool updates,
                                       unsigned depth) {
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
    // The table that the client named is none that a cascade finds, when one leads back to it.
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
    // Of a child that is not there no lock stays, which nobody would see that it is in the way.
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

// A child that is not open cannot be cascaded to; the engine relies on it.
bool Tables::ReferencesChanged(const OpenTable& open) {
  std::string now;
  for (const References& known : open.references) {
    List<FOREIGN_KEY_INFO> keys;
    if (!ListReferences(thd_.get(), known.table, &keys, &now) || now != known.keys) return true;
  }
  return false;
}

Outcome Tables::TakeBackupLock(const TABLE& table) {
  return table.s->online_backup ? TakeBackupLock(MDL_BACKUP_TRANS_DML, 1u << 0)
                                : TakeBackupLock(MDL_BACKUP_DML, 1u << 1);
}

Outcome Tables::TakeBackupLock(enum_mdl_type type, unsigned bit) {
  if (backup_locks_ & bit) return {};
  THD* thd = thd_.get();
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", type, MDL_STATEMENT);
  if (thd->mdl_context.acquire_lock(&request, thd->variables.lock_wait_timeout)) {
    return LockFailure();
  }
  backup_locks_ |= bit;
  return {};
}

void Tables::BeginTurn(bool writes) {
  ++turn_;
  locks_stay_ = !writes;
  has_changed_rows_ = has_unlogged_rows_ = false;
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
    const Outcome outcome = TakeBackupLock(*open.table);
    if (!outcome.ok()) return outcome;
    // After the backup lock, which SET GLOBAL read_only waits for.
    if (opt_readonly) return Outcome::Fail(ErrorCode::kLockTables);
    // The write would be this node's alone, and the nodes would differ in silence.
    if (IsGaleraNode()) return Outcome::Fail(ErrorCode::kGalera);
    if (ReferencesChanged(open)) {
      out_of_date_ = true;
      thd_.ClearStatement();
      return Outcome::Make(Outcome::Result::kGivesWay, {ErrorCode::kLockTables});
    }
  }
  locked_.reserve(locked_.size() + 1);
  // Aria would take part in the turn's transaction, for a find as well, and having no prepare of
  // its own take it from all others in the turn. Without this it commits at the end of the
  // statement.
  const ulonglong begin = open.rolls_back ? 0 : thd->variables.option_bits & OPTION_BEGIN;
  thd->variables.option_bits &= ~begin;
  // What outlasts the turn may not lie in the statement's memory.
  open.lock = mysql_lock_tables(thd, open.tables.data(), static_cast<uint>(open.tables.size()),
                                open.stays_locked ? MYSQL_LOCK_USE_MALLOC : 0);
  thd->variables.option_bits |= begin;
  if (open.lock == nullptr) return LockFailure();
  open.used_in = turn_;
  locked_.push_back(&open);
  if (open.access == Access::kRead || open.rolls_back) return {};
  const Outcome outcome = TakeCommitLock(open);
  if (!outcome.ok()) Unlock(open);
  return outcome;
}

// What is changed by then could not be taken back: its commit must not be what has to wait. Not
// before the lock of the table, nor longer: all other commits of the server may wait for it.
Outcome Tables::TakeCommitLock(OpenTable& open) {
  THD* thd = thd_.get();
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::BACKUP, "", "", MDL_BACKUP_COMMIT, MDL_EXPLICIT);
  if (thd->mdl_context.acquire_lock(&request, thd->variables.lock_wait_timeout)) {
    return LockFailure();
  }
  open.commits = request.ticket;
  return {};
}

// The lock stayed from an earlier turn; InnoDB is told that another statement begins.
int Tables::Resume(OpenTable& open) {
  handler* file = open.table->file;
  const int error = file->start_stmt(thd_.get(), TL_READ);
  if (error != 0) return error;
  if (file->keyread_enabled()) file->extra(HA_EXTRA_KEYREAD);  // Is forgotten by start_stmt.
  open.used_in = turn_;
  return 0;
}

// ha_reset also lets go of what handlers have put on the statement's memory, which is freed next.
void Tables::ReleaseLock(OpenTable& open) {
  mysql_unlock_tables(thd_.get(), open.lock, /*free_lock=*/open.stays_locked);
  open.lock = nullptr;
  if (open.commits != nullptr) thd_.get()->mdl_context.release_lock(open.commits);
  open.commits = nullptr;
  if (open.changed) query_cache_invalidate3(thd_.get(), open.table, 0);
  open.changed = false;
  for (TABLE* table : open.tables) table->file->ha_reset();
}

void Tables::Unlock(OpenTable& open) {
  if (open.lock == nullptr) return;
  open.EndScan();
  // A statement on another table may be open, whose row events name the tables of its own lock.
  THD* thd = thd_.get();
  if (thd->lock == open.lock) thd->lock = nullptr;
  ReleaseLock(open);
  locked_.erase(std::remove(locked_.begin(), locked_.end(), &open), locked_.end());
}

void OpenTable::EndScan() {
  table->file->ha_end_keyread();
  table->file->ha_index_or_rnd_end();
  positioned_for = 0;
}

void Tables::EndScans() {
  for (OpenTable* open : locked_) {
    if (!Stays(*open)) open->EndScan();
  }
}

void Tables::UnlockAll() {
  LetGo();
  EndScans();
  EndTurn();
}

void Tables::EndTurn() {
  THD* thd = thd_.get();
  std::erase_if(locked_, [this](OpenTable* open) {
    if (Stays(*open)) return false;
    ReleaseLock(*open);
    return true;
  });
  thd->lock = nullptr;
  if (backup_locks_ != 0) {
    thd->mdl_context.release_statement_locks();
    backup_locks_ = 0;
  }
}

// A turn may be shorter than looking is worth: once in a tick of the coarse clock is enough.
void Tables::CloseIfWanted() {
  if (out_of_date_ || by_name_.size() > model::kSessionTablesMax) return CloseAll();
  const int64_t now_ms = base::CoarseNowMs();
  if (now_ms == looked_ms_) return;
  looked_ms_ = now_ms;
  for (TABLE* table = thd_.get()->open_tables; table != nullptr; table = table->next) {
    // needs_reopen() does not tell of FLUSH TABLES and of OPTIMIZE.
    if (table->needs_reopen() || table->s->tdc->flushed ||
        (table->mdl_ticket != nullptr && table->mdl_ticket->has_pending_conflicting_lock())) {
      CloseAll();
      return;
    }
  }
  FlushStatistics();
}

void Tables::FlushStatistics() {
  const uint64_t now_s = my_hrtime_coarse().val / 1000000;
  if (now_s == statistics_flushed_s_) return;
  statistics_flushed_s_ = now_s;
  for (TABLE* table = thd_.get()->open_tables; table != nullptr; table = table->next) {
    table->file->update_global_table_stats();
    table->file->update_global_index_stats();
  }
}

void Tables::CloseAll() {
  THD* thd = thd_.get();
  UnlockAll();
  close_thread_tables(thd);
  thd->mdl_context.release_transactional_locks(thd);
  by_name_.clear();
  out_of_date_ = false;
  ++generation_;
}

}  // namespace rowsocket::engine::server
