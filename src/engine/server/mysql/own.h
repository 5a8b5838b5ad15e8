// What the classes of engine/server keep in MySQL alone. Each family of servers has such a file,
// with the same classes. Common code calls RestoreDescription, and BeginTurn, BeginChanges and
// TakeBackChanges of TablesOwn; all else is for this folder's files.
#pragma once

#include <vector>

#include "api.h"

namespace rowsocket::engine::server {

struct SessionThdOwn {
  /// The memory of the THD's LEX, which outlives statements.
  MEM_ROOT lex_memory{PSI_NOT_INSTRUMENTED, 4096};
  Strict_error_handler strictness{Strict_error_handler::ENABLE_SET_SELECT_STRICT_ERROR_HANDLER};
  bool is_strict = false;
  const char* shown = nullptr;  ///< The text of the last Describe.
  std::vector<TABLE*> nexts;    ///< Space for Statement::Begin.

  /// Functions of the server have shown steps of their own in the place of the text.
  void RestoreDescription(THD* thd) const {
    if (thd->proc_info() != shown) thd->set_proc_info(shown);
  }
};

/// Nothing: where rows may be changed during an ALTER, InnoDB alone copies; all rows are logged.
struct TablesOwn {
  void BeginTurn() {}
  void BeginChanges() {}
  void TakeBackChanges() {}
};

struct CommitterOwn {
  MDL_ticket* commit_lock = nullptr;  ///< Held from TakeCommitLock on.
};

}  // namespace rowsocket::engine::server
