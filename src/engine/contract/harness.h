// The services that the contract suite needs of an engine besides engine::Session: tables, and
// other users of the same database who read, change, lock and alter the tables.
//
// Flow: a test makes a Harness, creates the table, works through sessions of factory(), and looks
// at the result with Dump. Every engine that the suite runs on defines MakeHarness() and links the
// suite; src/engine/fake and src/plugin/contract do.
// The table is always kDatabase.kTable with the columns id (the primary key, an integer that is
// generated if it is not given), v (an integer, with the index by_v) and w (a text).
// Threads: the test's own thread, except FailCommitOfThisTurn.
// Lifetime: a Harness outlives its sessions and Holds.
// Errors: a harness that cannot do its task fails the running test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/session.h"
#include "model/account.h"

namespace rowsocket::engine::contract {

inline constexpr char kDatabase[] = "contract";
inline constexpr char kTable[] = "t";

/// The cells id, v, w; a cell without a value is NULL.
using Row = std::vector<std::optional<std::string>>;

/// The reasons that lie in a table: all but kRequest, which lies in a request.
inline std::vector<NotMergeable> ReasonsOfTables() {
  std::vector<NotMergeable> reasons;
  for (unsigned each = 0; each < static_cast<unsigned>(NotMergeable::kCount); ++each) {
    const auto reason = static_cast<NotMergeable>(each);
    if (reason == NotMergeable::kNone || reason == NotMergeable::kRequest) continue;
    reasons.push_back(reason);
  }
  return reasons;
}

struct TableKind {
  /// Why requests for one row of the table are not merged; kNone: they are merged.
  NotMergeable not_mergeable = NotMergeable::kNone;
  /// A row of 800 bytes in w cannot be written, and the engine notices only when it writes the row.
  bool is_narrow = false;
  /// A row has all of its bytes in its record: w is no BLOB.
  bool is_compact = false;

  friend bool operator==(const TableKind&, const TableKind&) = default;
};

/// A lock, or anything else, that another user of the database holds until the object is destroyed.
class Hold {
 public:
  virtual ~Hold() = default;
};

class Harness {
 public:
  virtual ~Harness() = default;

  virtual SessionFactory& factory() = 0;
  /// The reasons of ReasonsOfTables that a table of this engine can have.
  virtual std::vector<NotMergeable> reasons() const = 0;

  /// Replaces the table. REQUIRES: no session holds a lock on it.
  virtual void CreateTable(const TableKind& kind, const std::vector<Row>& rows) = 0;
  /// Another user adds a column after the others. REQUIRES: no session holds a lock on the table.
  virtual void AddColumn() = 0;

  /// The committed rows in the order of id, as `1,10,a;2,NULL,b;`, read by another user.
  virtual std::string Dump() = 0;
  /// The number of rows that were inserted, updated or deleted since the server's start.
  virtual uint64_t RowsWritten() = 0;

  /// Another user sets v of a row, in a transaction of its own. REQUIRES: no session has locked the
  /// row.
  virtual void SetV(const std::string& id, const std::string& v) = 0;
  /// Another user inserts a row, in a transaction that stays open until the Hold ends and commits
  /// it.
  virtual std::unique_ptr<Hold> InsertRow(const std::string& id) = 0;

  /// Another user locks the row, or the table against every use. REQUIRES: nobody else holds the
  /// lock.
  virtual std::unique_ptr<Hold> LockRow(const std::string& id) = 0;
  virtual std::unique_ptr<Hold> LockTable() = 0;
  /// Whether another user can take the lock right now; the lock is given back at once.
  virtual bool CanLockRow(const std::string& id) = 0;
  virtual bool CanLockTable() = 0;

  /// Waits until a session waits for a locked row. False: no session does so within the time that a
  /// test has.
  virtual bool AwaitWaiting() = 0;
  /// Makes sessions with LockWait::kServer wait only shortly for a row, so that tests see the
  /// timeout.
  virtual void ShortenLockWait() = 0;

  /// Prepares a deadlock that the session loses: its next statement that changes the row `wanted`
  /// closes the circle. REQUIRES: the session waits for locks, and its turn has changed the row
  /// `held`.
  virtual std::unique_ptr<Hold> PrepareDeadlock(const std::string& held,
                                                const std::string& wanted) = 0;
  /// Makes the Commit of the calling session's turn fail. Called on the session's thread, within a
  /// turn that has changed a row.
  virtual void FailCommitOfThisTurn() = 0;
  /// Makes the EndRow of a row of a narrow table fail. Called before BeginRow.
  virtual void FailEndRow() = 0;

  /// Makes the log refuse the changes of a turn beyond some thousand bytes, in sessions that are
  /// made from now on. An engine without such a log takes all changes.
  virtual void ShrinkLog() = 0;

  /// What an account may do with the table, and with no other.
  enum class Rights : uint8_t { kNone, kSelect, kSelectAndUpdateV };
  /// Makes the account, if there is none yet, and gives it these rights in place of those that
  /// it has.
  virtual void SetRights(const model::Account& account, Rights rights) = 0;

  /// KILL QUERY, or KILL, for the session with this description (Session::Describe).
  virtual void KillStatement(const std::string& description) = 0;
  virtual void KillSession(const std::string& description) = 0;
};

/// The harness of the engine that the suite is linked with.
std::unique_ptr<Harness> MakeHarness();

}  // namespace rowsocket::engine::contract
