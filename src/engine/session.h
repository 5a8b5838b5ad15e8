// The contract between the executor and a storage engine: everything that knows the database
// server stays behind it.
//
// Flow, as a grammar:
//   session := { OpenIndex | Inspect | turn | ReleaseTables }*
//   turn    := BeginTurn { Execute }* ( Commit | Rollback )
// OpenIndex may also be called within a turn, before its first Execute.
//
// What an implementation must satisfy:
//   S1  All finds of a turn that are not behind a write see one consistent state; a find behind a
//       write of the same turn sees that write.
//   S2  Execute is one statement: when its outcome is an error, nothing of it is left and the
//       earlier statements of the turn stand (engines without transactions cannot take rows back).
//   S3  When Commit returns success every change of the turn is durable as the server is
//       configured; when it returns an error none of them is there.
//   S4  With LockWait::kNever no call waits for a lock that another session holds: the outcome is
//       kBusy and nothing was changed by that statement.
//   S5  Nothing is held between turns that would make another session wait after ReleaseTables.
//   S6  Outcome::transaction_lost says that the engine has rolled the whole turn back; the caller
//       calls Rollback and may run the turn again.
//
// Threads: a session belongs to one thread (invariant I5), except Interrupt; an Index to all.
// Errors: model::Error in the outcome; no exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/facts.h"
#include "engine/index.h"
#include "model/error.h"
#include "model/request.h"
#include "model/row_sink.h"

namespace rowsocket::engine {

enum class LockWait : uint8_t {
  kNever,   ///< A lock that is held elsewhere answers kBusy at once.
  kServer,  ///< Wait as the server's own sessions do, up to their timeouts.
};

struct Outcome {
  model::Error error;
  /// Another session holds a lock that this statement needs. The error says what a wait that ran
  /// out of time would have answered.
  bool busy = false;
  /// What this session holds stands in somebody's way (a DDL statement that it would deadlock with,
  /// an old version of the table): give the tables back, and try again a moment later.
  bool back_off = false;
  bool transaction_lost = false;
  /// With transaction_lost: the turn was too large for one transaction; its requests may well
  /// succeed in transactions of their own.
  bool too_large = false;
  /// The engine cannot take this statement back: it stands, whatever becomes of the turn.
  bool permanent = false;
  bool has_insert_id = false;  ///< The table has an AUTO_INCREMENT column.
  uint64_t insert_id = 0;      ///< The generated value; 0 when the client gave one.
  uint64_t rows = 0;           ///< Rows sent to the sink, or changed.

  bool ok() const { return error.ok(); }
  static Outcome Fail(model::ErrorCode code) {
    Outcome outcome;
    outcome.error.code = code;
    return outcome;
  }
};

class Session {
 public:
  virtual ~Session() = default;

  /// Looks the names up; `*index` is set on success only. Equal names give the same object, in all
  /// sessions of a factory.
  virtual Outcome OpenIndex(const IndexNames& names, std::shared_ptr<Index>* index) = 0;

  /// What the index and its columns are right now. May be called wherever OpenIndex may.
  virtual Outcome Inspect(Index& index, IndexFacts* facts) = 0;

  /// `writes`: the turn may hold requests with is_write(). REQUIRES: no turn is open.
  virtual void BeginTurn(bool writes) = 0;

  /// Executes one request. Rows go to `sink`; on an error the caller drops what was pushed.
  /// REQUIRES: a turn is open; a write only in a turn that writes; `index` came from a
  /// session of the same factory and is held by somebody until the turn's end.
  virtual Outcome Execute(Index& index, const model::Request& request, model::RowSink& sink) = 0;

  /// Ends the turn. On an error nothing of the turn is left.
  virtual Outcome Commit() = 0;
  virtual void Rollback() = 0;

  /// Gives back every table and lock. For when there is nothing to do for a while.
  virtual void ReleaseTables() = 0;
  /// True when ReleaseTables would give something back, or take note of a KILL.
  virtual bool HoldsTables() const = 0;

  /// The server wants this session to end: close it soon.
  virtual bool ShouldStop() const = 0;

  /// What SHOW PROCESSLIST says about this session; kept until the next call.
  virtual void Describe(std::string_view text) = 0;

  /// Makes a wait inside the session end soon, with an error. Thread-safe.
  virtual void Interrupt() = 0;
};

/// Makes sessions; shared by all threads.
class SessionFactory {
 public:
  virtual ~SessionFactory() = default;
  /// Called on the thread that will own the session; null when the server is shutting down.
  virtual std::unique_ptr<Session> Create(LockWait lock_wait) = 0;
};

}  // namespace rowsocket::engine
