// What classes of engine/server keep only in MariaDB. The headers of these classes say what common
// code calls; all else is for this folder's files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api.h"

namespace rowsocket::engine::server {

class SessionThdOwn {
 public:
  /// Empty in MariaDB, which reports by an error that a lock was not waited for.
  void BeginStatement() {}
  /// Empty in MariaDB, where no function of the server replaces the text of Describe for good.
  void RestoreDescription(THD*) {}
  /// Finds the address of the variable innodb_flush_log_at_trx_commit, which stays valid, because
  /// InnoDB is loaded as long as the server runs.
  void FindFlushAtCommit(THD* thd);
  /// @@global.innodb_flush_log_at_trx_commit; 1 if the server has no InnoDB.
  unsigned long flush_at_commit() const {
    return flush_at_commit_ != nullptr ? *flush_at_commit_ : 1;
  }

 private:
  const unsigned long* flush_at_commit_ = nullptr;
};

/// What a commit has to know about the changes of its turn.
class TurnChangesOwn {
 public:
  void BeginTurn() { *this = {}; }
  void BeginChanges() { rows_for_alter_ = 0; }
  /// Notes that the statement or unit was taken back. If it had changed several rows, the server's
  /// list of changes for an ALTER's copy keeps all but the last (online_alter.cc), unless the whole
  /// transaction is rolled back.
  void TakeBackChanges() { alter_has_undone_rows_ |= std::exchange(rows_for_alter_, 0) > 1; }
  /// Notes that a statement has changed a row of a table that an ALTER copies meanwhile.
  void NoteRowForAlter() { ++rows_for_alter_; }
  /// Whether a commit of this turn would give an ALTER changes that were taken back.
  bool alter_has_undone_rows() const { return alter_has_undone_rows_; }
  /// Notes that the binary log, if there is one, may lack some of the changed rows.
  void NoteUnloggedRows() { has_unlogged_rows_ = true; }
  bool has_unlogged_rows() const { return has_unlogged_rows_; }

 private:
  unsigned rows_for_alter_ = 0;  ///< How many rows the statement or unit has changed while ALTERs
                                 ///< copy their tables.
  bool alter_has_undone_rows_ = false;
  bool has_unlogged_rows_ = false;
};

/// The foreign keys that refer to a table, as a text that changes when they change.
struct References {
  TABLE* table;
  std::string keys;
};

struct OpenTableOwn {
  MDL_ticket* statement_commit_lock = nullptr;  ///< Held with `lock`: TakeStatementCommitLock.
  /// For writes: the references to each table whose rows may change, because a new foreign key can
  /// appear without a lock of the parent (CREATE TABLE of a child).
  std::vector<References> references;
};

struct CommitterOwn {
  MDL_request commit_lock;        ///< MDL_BACKUP_COMMIT, from TakeCommitLock on.
  std::vector<handlerton*> seen;  ///< The engines whose rows a turn has locked and not changed.
};

struct PrivilegeReaderOwn {
  PrivilegeReaderOwn() : thd(new THD(0)) {}
  ~PrivilegeReaderOwn() {
    thd->security_ctx = &thd->main_security_ctx;
    delete thd;
  }
  PrivilegeReaderOwn(const PrivilegeReaderOwn&) = delete;
  PrivilegeReaderOwn& operator=(const PrivilegeReaderOwn&) = delete;

  /// The THD from which functions of the server take the account. No list has it, so that no other
  /// thread looks at it.
  THD* const thd;
  Security_context account;
  std::string address;  ///< The text that `account` has as its address.
  GRANT_INFO grant;
  const std::string* table = nullptr;
  bool is_locked = false;

  void TakeRole(const std::string& role);
};

}  // namespace rowsocket::engine::server
