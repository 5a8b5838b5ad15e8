// The THD of one session: the server's idea of a thread that runs statements. What all servers do
// alike is in session_thd.cc, the rest in one session_thd.cc for each family.
//
// Flow: Create on the owning thread, StartStatement before and ClearStatement after every
// statement, Destroy on the same thread. A KILL of the thread is noticed with must_end();
// the session then makes a new one.
// Threads: the owning thread, except Interrupt.
#pragma once

#include <string_view>

#include "base/mutex.h"
#include "base/require.h"
#include "base/shown_text.h"
#include "engine/session.h"
#include "model/error.h"
#include "own.h"

namespace rowsocket::engine::server {

struct WaitTimeouts {
  /// Seconds to wait for metadata and table locks; 0: do not wait.
  unsigned table_lock_s = 0;
  /// Whether the session waits for row locks, as long as @@global.innodb_lock_wait_timeout says.
  bool waits_for_rows = false;
};

/// The user of a session, as SQL shows it.
struct SessionUser {
  const char* name;  ///< In the process list, and as CURRENT_USER(); outlives the session.
  /// CHAR columns are read with their padding if sql_mode has PAD_CHAR_TO_FULL_LENGTH.
  bool shows_padding = false;
};

class SessionThd {
 public:
  SessionThd(const WaitTimeouts& timeouts, SessionUser user) : timeouts_(timeouts), user_(user) {}
  ~SessionThd() { Destroy(); }
  SessionThd(const SessionThd&) = delete;
  SessionThd& operator=(const SessionThd&) = delete;

  /// Makes the THD. False if the library does not suit the server. REQUIRES: the server has started
  /// (mysqld_server_started).
  bool Create();
  void Destroy();

  /// Invariant I5: the calling thread's own.
  THD* get() const {
    ROWSOCKET_REQUIRE(thd_ == nullptr || thd_ == current_thd);
    return thd_;
  }
  /// The number that KILL takes.
  unsigned long long id() const;

  /// Takes over the global variables as a new SQL session would. True when a variable has changed
  /// with which expressions of open tables (defaults, generated columns, CHECK) were prepared.
  bool RefreshVariables();

  /// Makes the session wait for table and metadata locks as long as WaitTimeouts says again, after
  /// a commit, which waits longer.
  void RestoreLockWait();
  /// How long the THD waits for a row, if it waits for rows, as RefreshVariables has read it.
  unsigned row_wait_s() const { return row_wait_s_; }
  /// Makes a THD that waits for rows and tables refuse such waits, or lets it wait again.
  void RefuseWaits(bool refuse);

  /// Lets a THD that does not wait for locks repair tables, as one that waits does.
  void AllowRepairs() { allows_repairs_ = true; }
  bool may_repair() const { return timeouts_.waits_for_rows || allows_repairs_; }

  /// Sets the time of the next request, also for expressions that keep the time for a whole
  /// statement.
  void SetTime();
  /// Sets the time, the command (an SQLCOM_ value) and the strict conversion rules of a statement.
  void StartStatement(int sql_command);
  /// Sets whether a conversion that loses something is an error, as for new values of a strict
  /// INSERT, or is ignored, as for a value that a column is compared with.
  void SetStrict(bool strict);
  /// Forgets errors, warnings and the conversion rules.
  void ClearStatement();
  /// Frees the memory of statements. REQUIRES: no lock lies in this memory (LockTables,
  /// `outlasts_turn`).
  void FreeStatementMemory();
  /// Unlocks the audit plugins that were told of this thread, if the server keeps them locked:
  /// until then they stay loaded, even if they are uninstalled.
  void ReleaseAuditPlugins();
  /// Unlocks the audit plugins only if plugins have come or gone since they were locked, because
  /// locking them anew for each turn would cost time.
  void ReleaseOldAuditPlugins();
  bool holds_audit_plugins() const;

  /// Whether, since the last statement began, a call has given up because another session held a
  /// lock, although the engine's error does not say so. Afterwards the THD can go on.
  bool TakeBusy();

  /// The error that the server left in the diagnostics area, as an engine number; kNone if none.
  model::Error TakeError();

  bool killed() const;
  /// Whether KILL CONNECTION or shutdown has ended this THD, which must then not be used any
  /// longer.
  bool must_end() const;
  /// Undoes KILL QUERY.
  void ForgetKillQuery();

  /// Shows the text as the thread's state in the process list.
  void Describe(std::string_view text);
  /// Ends what the thread waits for, or does, as KILL QUERY does.
  /// Threads: any.
  void Interrupt();

  /// The family's own part, which its other files use. Common code calls two of its functions:
  /// BeginStatement when a find or a statement begins, and RestoreDescription to show the text of
  /// Describe again after functions of the server have replaced it.
  SessionThdOwn& own() { return own_; }

 private:
  void WaitForTables(bool waits);
  /// Sets thd_, which a thread that calls Interrupt may be looking at.
  void SetThd(THD* thd);
  /// Makes a new THD log all that it does as rows, in the transactions that Committer begins.
  static void SetLogging(THD* thd);
  /// Sets how transactions begin, whatever the defaults of SQL sessions are.
  static void SetTransactions(THD* thd);

  // Each family's own steps.

  /// Makes a THD with a number of its own.
  static THD* NewThd();
  /// Frees a THD that is not, or no longer, a session.
  static void FreeThd(THD* thd);
  /// Whether members of a new THD are where this library's headers say; otherwise the server's own
  /// functions would read other members.
  static bool LayoutMatches(THD* thd);
  /// Makes the THD a session of the server and of its cluster: gives it a user, a LEX, the wait for
  /// rows of WaitTimeouts, and a place in the list of threads and in performance_schema, which
  /// would otherwise count nothing that the thread does. The user has all privileges but one: SET
  /// GLOBAL read_only holds for this session, because no client of it is a privileged user.
  void Enter(THD* thd);
  /// Lets the THD wait for rows as long as @@global.innodb_lock_wait_timeout says now. InnoDB's
  /// variable has a session value, which is taken when the THD is made, so that a later SET GLOBAL
  /// would never be seen.
  void FollowRowLockWait();
  void RefuseRowWaits(bool refuse);

  const WaitTimeouts timeouts_;
  const SessionUser user_;
  base::Mutex mutex_;  ///< Held to write thd_, and to read it on a thread that does not own it.
  THD* thd_ = nullptr;
  unsigned row_wait_s_ = 0;
  bool allows_repairs_ = false;
  base::ShownText description_;
  SessionThdOwn own_;
};

/// Whether the server is shutting down, or this library is being unloaded.
bool ServerStopping();

}  // namespace rowsocket::engine::server
