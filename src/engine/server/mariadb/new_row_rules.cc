// The part of NewRow that follows the server's own rules.
#include "engine/server/new_row.h"

namespace rowsocket::engine::server {

bool NewRow::PrepareInsert(TABLE* table) {
  THD* thd = thd_.get();
  if (PrepareToWrite(*table->file, /*sets_fields=*/true) != 0) return false;
  table->next_number_field = table->found_next_number_field;
  MarkForInsert(*table);
  if (check_that_all_fields_are_given_values(thd, table, table->pos_in_table_list) ||
      table->validate_default_values_of_unset_fields(thd)) {
    return false;
  }
  return StartInsert(table);
}

bool NewRow::StartInsert(TABLE* table) {
  restore_record(table, s->default_values);
  ForgetGiven(*table);
  return true;
}

bool NewRow::CompleteInsert(TABLE* table) {
  return !(
      (table->default_field != nullptr && table->update_default_fields(false)) ||
      (HasGenerated(*table) && table->update_virtual_fields(table->file, VCOL_UPDATE_FOR_WRITE)) ||
      thd_.get()->is_error() || table->verify_constraints(false) != VIEW_CHECK_OK);
}

void NewRow::MarkUpdate(TABLE* table) { MarkForUpdate(*table); }

NewRow::Made NewRow::CompleteUpdate(TABLE* table) {
  table->evaluate_update_default_function();
  if (HasGenerated(*table) && table->update_virtual_fields(table->file, VCOL_UPDATE_FOR_WRITE)) {
    return Made::kRefused;
  }
  if (thd_.get()->is_error()) return Made::kRefused;
  if (records_are_comparable(table) && !compare_record(table)) return Made::kSame;
  return table->verify_constraints(false) == VIEW_CHECK_OK ? Made::kChanged : Made::kRefused;
}

}  // namespace rowsocket::engine::server
