// What classes of engine/server keep in MySQL alone. The headers of these classes say what common
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
  std::vector<TABLE*> nexts;    ///< Space for Statement::Begin.

  /// Forgets a lock that was met before.
  void BeginStatement() { WaitHook::TakeMetLock(); }
  /// Functions of the server have shown steps of their own in the place of the text.
  void RestoreDescription(THD* thd) const {
    if (thd->proc_info() != shown) thd->set_proc_info(shown);
  }
};

/// Nothing: while sessions may write, only InnoDB itself copies for an ALTER; all rows are logged.
struct TablesOwn {
  void BeginTurn() {}
  void BeginChanges() {}
  void TakeBackChanges() {}
};

/// Nothing: a foreign key comes and goes under a lock of both of its tables, and statements take no
/// lock of commits.
struct OpenTableOwn {};

struct CommitterOwn {
  MDL_ticket* commit_lock = nullptr;  ///< Held from TakeCommitLock on.
};

struct PrivilegeReaderOwn {
  /// What decides about rights besides the names: the count of changes, and global variables.
  struct Version {
    uint64_t changes = 0;
    bool revokes_partially = false, activates_all = false, activates_mandatory = false;
    bool operator==(const Version&) const = default;
  };

  std::optional<Security_context> account;
  std::string address;  ///< What `account` shows as its address.
  std::optional<Table_ref> table;
  MDL_ticket* lock = nullptr;
  Version version;
  bool has_missed = false;  ///< An account was not found: CREATE USER is not counted.
};

}  // namespace rowsocket::engine::server
