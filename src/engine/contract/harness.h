// What the contract suite needs of an engine besides engine::Session: tables, and other users of
// the same database who read, change, lock and alter them.
//
// Flow: a test makes a Harness, creates the table, works through sessions of factory(), and looks
// at the result with Dump. Every engine that the suite runs on defines MakeHarness() and links the
// suite; src/engine/fake and src/plugin/contract do.
// The table is always kDatabase.kTable with the columns id (the primary key, an integer that is
// generated where it is not given), v (an integer, with the index by_v) and w (a text).
// Threads: the test's own thread, except FailCommitOfThisTurn.
// Lifetime: a Harness outlives its sessions and Holds. Errors: a harness that cannot do what it is
// asked for fails the running test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/session.h"

namespace rowsocket::engine::contract {

inline constexpr char kDatabase[] = "contract";
inline constexpr char kTable[] = "t";

/// id, v, w; without a value: NULL.
using Row = std::vector<std::optional<std::string>>;

struct TableKind {
  /// Why requests for one row of the table are not merged; kNone: they are.
  NotMergeable not_mergeable = NotMergeable::kNone;
  /// A row of 800 bytes in w cannot be written, and the engine finds out when it writes the row.
  bool is_narrow = false;

  friend bool operator==(const TableKind&, const TableKind&) = default;
};

/// Something that another user of the database holds until the object is destroyed.
class Hold {
 public:
  virtual ~Hold() = default;
};

class Harness {
 public:
  virtual ~Harness() = default;

  virtual SessionFactory& factory() = 0;
  /// What TableKind::not_mergeable may be.
  virtual std::vector<NotMergeable> reasons() const = 0;

  /// Replaces the table. REQUIRES: no session holds a lock on it.
  virtual void CreateTable(const TableKind& kind, const std::vector<Row>& rows) = 0;
  /// Another user adds a column behind the others. REQUIRES: no session holds a lock on the table.
  virtual void AddColumn() = 0;

  /// The committed rows in the order of id, as `1,10,a;2,NULL,b;`, read by another user.
  virtual std::string Dump() = 0;
  /// How many times a row was inserted, updated or deleted since the server's start.
  virtual uint64_t RowsWritten() = 0;

  /// Another user sets v of a row, in a transaction of its own. REQUIRES: nobody has locked the
  /// row.
  virtual void SetV(const std::string& id, const std::string& v) = 0;
  /// Another user inserts a row, in a transaction that is open until the Hold ends and commits it.
  virtual std::unique_ptr<Hold> InsertRow(const std::string& id) = 0;

  /// Another user locks the row (or the table against every use). REQUIRES: nobody holds it.
  virtual std::unique_ptr<Hold> LockRow(const std::string& id) = 0;
  virtual std::unique_ptr<Hold> LockTable() = 0;
  /// Whether another user can have that lock right now; it is given back at once.
  virtual bool CanLockRow(const std::string& id) = 0;
  virtual bool CanLockTable() = 0;

  /// Until a session waits for a row that is locked. False: it does not within the time that a test
  /// has.
  virtual bool AwaitWaiting() = 0;
  /// How long sessions with LockWait::kServer wait for a row: short, for the timeout to be seen.
  virtual void ShortenLockWait() = 0;

  /// A deadlock is prepared in which the session loses: its next statement that changes the row
  /// `wanted` closes the circle. REQUIRES: the session waits for locks, and its turn has changed
  /// the row `held`.
  virtual std::unique_ptr<Hold> PrepareDeadlock(const std::string& held,
                                                const std::string& wanted) = 0;
  /// The Commit of the calling session's turn fails. Called on the session's thread, within a turn
  /// that has changed something.
  virtual void FailCommitOfThisTurn() = 0;
  /// The EndRow of a row of a narrow table fails. Called before BeginRow.
  virtual void FailEndRow() = 0;

  /// KILL QUERY, or KILL, for the session that has described itself so.
  virtual void KillStatement(const std::string& description) = 0;
  virtual void KillSession(const std::string& description) = 0;
};

/// Of the engine that the suite is linked with.
std::unique_ptr<Harness> MakeHarness();

}  // namespace rowsocket::engine::contract
