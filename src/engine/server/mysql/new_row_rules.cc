// The part of NewRow that follows the server's own rules.
#include "engine/server/new_row.h"

namespace rowsocket::engine::server {

namespace {

/// Marks the columns that the row's own defaults change, besides those that a request gives.
void MarkDefaults(TABLE* table, bool (Field::*has_default)() const) {
  for (Field** field = table->field; *field != nullptr; ++field) {
    if (((*field)->*has_default)()) bitmap_set_bit(table->write_set, NumberOf(**field));
  }
}

bool ComputeGenerated(TABLE* table) {
  return !HasGenerated(*table) || !update_generated_write_fields(table->write_set, table);
}

/// Computes the generated columns of a row for a second time.
bool ComputeGeneratedAgain(TABLE* table) {
  if (!HasGenerated(*table)) return true;
  table->blobs_need_not_keep_old_value();
  return !update_generated_write_fields(table->write_set, table);
}

}  // namespace

bool NewRow::PrepareInsert(TABLE* table) {
  MarkDefaults(table, &Field::has_insert_default_datetime_value_expression);
  MarkDefaults(table, &Field::has_insert_default_general_value_expression);
  table->next_number_field = table->found_next_number_field;
  MarkForInsert(*table);
  for (Field** field = table->field; *field != nullptr; ++field) (*field)->reset_warnings();
  return StartInsert(table);
}

bool NewRow::StartInsert(TABLE* table) {
  SetGivesAutoIncrement(*table, false);
  bitmap_clear_all(table->fields_set_during_insert);
  restore_record(table, s->default_values);
  return !validate_default_values_of_unset_fields(thd_.get(), table);
}

// The order of the steps is that of Sql_cmd_insert_values with
// fill_record_n_invoke_before_triggers.
bool NewRow::CompleteInsert(TABLE* table) {
  THD* thd = thd_.get();
  if (!ComputeGenerated(table)) return false;
  bool has_defaults = false;
  for (Field** field = table->field; *field != nullptr; ++field) {
    const bool has_default = (*field)->has_insert_default_datetime_value_expression() ||
                             (*field)->has_insert_default_general_value_expression();
    if (!has_default || WasGiven(**field)) continue;
    (*field)->evaluate_insert_default_function();
    if (thd->is_error()) return false;
    has_defaults = true;
  }
  if (has_defaults && !ComputeGeneratedAgain(table)) return false;
  for (Field** field = table->field; *field != nullptr; ++field) {
    if (WasGiven(**field)) (*field)->check_constraints(ER_BAD_NULL_ERROR);
  }
  return !thd->is_error() &&
         !check_that_all_fields_are_given_values(thd, table, table->pos_in_table_list) &&
         !invoke_table_check_constraints(thd, table);
}

void NewRow::MarkUpdate(TABLE* table) {
  // The value of a generated column before the change may be needed, so that the columns from which
  // it is computed are read.
  for (Field** field = table->field; *field != nullptr; ++field) {
    const bool is_given = bitmap_is_set(table->write_set, NumberOf(**field));
    if (is_given && IsGenerated(**field)) MarkForReading(**field);
  }
  MarkDefaults(table, &Field::has_update_default_datetime_value_expression);
  MarkForUpdate(*table);
}

NewRow::Made NewRow::CompleteUpdate(TABLE* table) {
  THD* thd = thd_.get();
  if (!ComputeGenerated(table) || thd->is_error()) return Made::kRefused;
  if (records_are_comparable(table) && !compare_records(table)) return Made::kSame;
  bool has_defaults = false;
  for (Field** field = table->field; *field != nullptr; ++field) {
    if (!HasOnUpdate(**field) || WasGiven(**field)) continue;
    (*field)->evaluate_update_default_function();
    has_defaults = true;
  }
  if (has_defaults && !ComputeGeneratedAgain(table)) return Made::kRefused;
  for (Field** field = table->field; *field != nullptr; ++field) {
    if (WasGiven(**field)) (*field)->check_constraints(ER_BAD_NULL_ERROR);
  }
  if (thd->is_error() || invoke_table_check_constraints(thd, table)) return Made::kRefused;
  return Made::kChanged;
}

}  // namespace rowsocket::engine::server
