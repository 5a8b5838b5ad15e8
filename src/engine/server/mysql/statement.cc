#include "engine/server/statement.h"

#include <vector>

#include "cascades.h"
#include "engine/server/cluster.h"
#include "engine/server/foreign_keys.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

/// Lets the server's checks of foreign keys find the tables that are locked for this statement, and
/// no others that the session has open for the same keys.
void ShowForeignKeyTables(const OpenTable& open, bool show) {
  for (TABLE* table : open.tables) {
    table->open_for_fk_name = show ? table->pos_in_table_list->open_for_fk_name : nullptr;
  }
}

/// Asks group replication's hook, which refuses a session that has a table without a primary key
/// among its open tables. While it runs, the session shows the tables of this statement alone:
/// others merely stay open. False: the hook refuses.
bool RunHookBefore(THD* thd, const OpenTable& open, std::vector<TABLE*>* nexts) {
  TABLE* const all = thd->open_tables;
  nexts->clear();
  TABLE* first = nullptr;
  mysql_mutex_lock(&thd->LOCK_thd_data);
  for (TABLE* each : open.tables) {
    nexts->push_back(each->next);
    each->next = first;
    first = each;
  }
  thd->open_tables = first;
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  const bool failed = run_before_dml_hook(thd) != 0;
  mysql_mutex_lock(&thd->LOCK_thd_data);
  for (size_t i = 0; i < nexts->size(); ++i) open.tables[i]->next = (*nexts)[i];
  thd->open_tables = all;
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  return !failed;
}

/// Makes the engine mark the THD (is_fatal_sub_stmt_error) when it refuses a lock, which otherwise
/// it does only in statements of triggers. If a cascade of a cascade is refused, the server goes on
/// unless the diagnostics area has a message, and a wait that took too long leaves none.
class MarkingRefusals {
 public:
  explicit MarkingRefusals(THD* thd) : thd_(thd) {
    thd_->reset_fk_cascade_chain_tables();  // As the server does outside of triggers.
    thd_->is_fatal_sub_stmt_error = false;
    thd_->in_sub_stmt = SUB_STMT_TRIGGER;
  }
  ~MarkingRefusals() {
    thd_->in_sub_stmt = 0;
    thd_->is_fatal_sub_stmt_error = false;
  }
  MarkingRefusals(const MarkingRefusals&) = delete;
  MarkingRefusals& operator=(const MarkingRefusals&) = delete;

 private:
  THD* const thd_;
};

/// The handler's number for a check that has failed. The server forgets it when a cascade cannot
/// change a row.
int ForeignKeyError(THD* thd, const TABLE& table, int sql_command) {
  if (!thd->is_error()) {
    return thd->transaction_rollback_request ? HA_ERR_LOCK_DEADLOCK : HA_ERR_LOCK_WAIT_TIMEOUT;
  }
  const uint number = thd->get_stmt_da()->mysql_errno();
  const bool is_referenced = number == ER_ROW_IS_REFERENCED || number == ER_ROW_IS_REFERENCED_2;
  // A cascade that was refused half way is taken back with the whole statement.
  const bool may_be_half =
      sql_command == SQLCOM_DELETE ? DeleteReachesChildren(thd, table) : ChangesChildren(table);
  if (!is_referenced || may_be_half) return Statement::kReported;
  thd->clear_error();
  return HA_ERR_ROW_IS_REFERENCED;
}

}  // namespace

Outcome Statement::CheckTable(const OpenTable& open, int sql_command,
                              const std::vector<uint>& columns) {
  const bool has_triggers =
      HasTriggers(*open.table, sql_command) || CascadesReachTriggers(open, sql_command, columns);
  return has_triggers ? Outcome::Fail(ErrorCode::kTrigger) : Outcome();
}

bool Statement::Announce(OpenTable& open) {
  THD* thd = thd_.get();
  return thd->decide_logging_format(&open.list.front()) == 0 &&
         RunHookBefore(thd, open, &thd_.own().nexts);
}

void Statement::PrepareForRows(const OpenTable& open) {
  for (TABLE* each : open.tables) {
    each->default_column_bitmaps();
    each->clear_column_bitmaps();
  }
  ShowForeignKeyTables(open, true);
}

// As in the server's own statements, the other tables of foreign keys come first.
int Statement::CheckForeignKeys(TABLE* table, int sql_command) {
  if (!ServerChecksForeignKeys(*table)) return 0;
  THD* thd = thd_.get();
  const enum_fk_dml_type type = sql_command == SQLCOM_INSERT   ? enum_fk_dml_type::FK_INSERT
                                : sql_command == SQLCOM_UPDATE ? enum_fk_dml_type::FK_UPDATE
                                                               : enum_fk_dml_type::FK_DELETE;
  bool is_refused = false;
  if (sql_command != SQLCOM_INSERT) {
    const MarkingRefusals marking(thd);
    is_refused = check_all_child_fk_ref(thd, table, type) || thd->is_fatal_sub_stmt_error;
  }
  if (!is_refused && sql_command != SQLCOM_DELETE) {
    is_refused = check_all_parent_fk_ref(thd, table, type);
  }
  return is_refused ? ForeignKeyError(thd, *table, sql_command) : 0;
}

// Nothing to note: all tables are InnoDB's, and all rows are logged.
void Statement::NoteForCommit(const TABLE&, bool) {}

// When the log has no room for the events, a replica would lack rows.
void Statement::FlushRowEvents(OpenTable& open, Outcome* outcome) {
  ShowForeignKeyTables(open, false);
  if (!outcome->ok()) return;
  if (thd_.get()->binlog_flush_pending_rows_event(/*stmt_end=*/true, /*is_transactional=*/true)) {
    *outcome = ServerFailure();
  }
}

void Statement::Close(OpenTable& open, Outcome*) {
  for (TABLE* each : open.tables) ForgetGenerated(*each);
}

}  // namespace rowsocket::engine::server
