// What classes of engine/server keep only in MySQL. The headers of these classes say what common
// code calls; all else is for this folder's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api.h"
#include "wait_hook.h"

namespace rowsocket::engine::server {

struct SessionThdOwn {
  /// The memory of the THD's LEX, which outlives statements.
  MEM_ROOT lex_memory{PSI_NOT_INSTRUMENTED, 4096};
  Strict_error_handler strictness{Strict_error_handler::ENABLE_SET_SELECT_STRICT_ERROR_HANDLER};
  bool is_strict = false;
  const char* shown = nullptr;  ///< The text of the last Describe.
  std::vector<TABLE*> nexts;    ///< Memory for Statement::Begin.

  /// Forgets that an earlier statement has met a lock.
  void BeginStatement() { WaitHook::TakeMetLock(); }
  /// Shows the text of Describe again, which functions of the server have replaced by steps of
  /// their own.
  void RestoreDescription(THD* thd) const {
    if (thd->proc_info() != shown) thd->set_proc_info(shown);
  }
};

/// Empty in MySQL: only InnoDB itself copies a table for an ALTER while sessions may write, and all
/// rows are logged.
struct TurnChangesOwn {
  void BeginTurn() {}
  void BeginChanges() {}
  void TakeBackChanges() {}
};

/// Empty in MySQL: a foreign key comes and goes under a lock of both of its tables, and statements
/// do not take the lock of commits.
struct OpenTableOwn {};

struct CommitterOwn {
  MDL_ticket* commit_lock = nullptr;  ///< Held from TakeCommitLock on.
};

struct PrivilegeReaderOwn {
  /// What rights depend on besides the names of the account: the server's count of changes, and
  /// global variables.
  struct Version {
    uint64_t changes = 0;
    bool revokes_partially = false, activates_all = false, activates_mandatory = false;
    bool operator==(const Version&) const = default;
  };

  std::optional<Security_context> account;
  std::string address;  ///< The text that `account` has as its address.
  std::optional<Table_ref> table;
  MDL_ticket* lock = nullptr;
  Version version;
  /// An account was not found, or `version` is not known yet. An account may appear unnoticed,
  /// because the server does not count CREATE USER.
  bool has_missed = true;
};

}  // namespace rowsocket::engine::server
