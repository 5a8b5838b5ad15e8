// engine::Session in a server: one THD, its open tables, and turns on them. session_rows.cc has the
// rows in memory (S7 to S9, S13), session_unit.cc units (S11, S12) and RefuseWaits, session.cc all
// else.
//
// Threads: the owning thread, except Interrupt.
// Limits: waits for tables and rows last as long as WaitTimeouts (session_thd.h) says.
#pragma once

#include <memory>
#include <vector>

#include "engine/server/cluster.h"
#include "engine/server/commit.h"
#include "engine/server/judge.h"
#include "engine/server/merged_row.h"
#include "engine/server/open_rows.h"
#include "engine/server/slow_log.h"
#include "engine/server/table_audit.h"
#include "engine/server/writer.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

class ServerSession final : public Session {
 public:
  ServerSession(LockWait lock_wait, const WaitTimeouts& timeouts, SessionUser user,
                IndexRegistry& indexes);
  ~ServerSession() override;

  /// Makes the THD. False if the library does not suit the server. Throws std::bad_alloc if there
  /// is no memory for it.
  bool Start();

  Outcome OpenIndex(const IndexNames& names, std::shared_ptr<Index>* index) override;
  Outcome MayOpen(const IndexNames& names, const model::Account& account) override;
  Outcome Inspect(Index& index, IndexFacts* facts) override;
  Outcome InspectAtOnce(Index& index, IndexFacts* facts) override;
  Outcome EstimateRows(Index& index, uint64_t* rows) override;
  void BeginTurn(bool writes) override;
  Outcome Execute(Index& index, const model::Request& request, model::RowSink& sink) override;
  Outcome MayExecute(Index& index, const model::Request& request) override;
  RowOpening BeginRow(Index& index, const model::Request& request) override;
  NotMergeable RowTakes(const model::Request& request) const override {
    return row_.Takes(request);
  }
  Outcome EndRow() override;
  Outcome CloseRowsReachedBy(Index& index, const model::Request& request) override;
  Outcome CloseRows(OpenRowTally* tally) override;
  Outcome BeginUnit() override;
  Outcome EndUnit(bool keep) override;
  void RefuseWaits(bool refuse) override;
  bool HoldsRows() const override { return holds_rows_; }
  bool PrepareCommit() override;
  Outcome Commit() override;
  void Rollback() override;
  void ReleaseTables() override;
  bool HasToRelease() const override {
    return !tables_.empty() || thd_.killed() || audit_.holds_plugins() ||
           thd_.holds_audit_plugins();
  }
  bool WaitsForLocks() const override { return lock_wait_ == LockWait::kServer; }
  int64_t row_wait_ms() const override { return int64_t{1000} * thd_.row_wait_s(); }
  int64_t slow_us() const override { return LongQueryUs(); }
  void LogSlow(const SlowRequest& request) override;
  bool WantsAccesses() const override { return TableAudit::IsWanted(); }
  void TellAccess(const TableAccess& access) override { audit_.Tell(thd_.get(), access); }
  void EndAccesses() override { audit_.Release(); }
  bool ShouldStop() const override;
  void Describe(std::string_view text) override;
  void Interrupt() override { thd_.Interrupt(); }
  void AllowRepairs() override { thd_.AllowRepairs(); }

 private:
  /// The state of an index in this session.
  IndexState& IndexStateOf(const Index& index);
  Outcome ListColumns(IndexNames* names);
  Outcome FindFacts(Index& index, IndexFacts* facts);
  /// Finds whether the request, which is no write, locks its row, and opens its table for that.
  /// `*locks` stays false for a request outside a unit, or one that names no single row.
  Outcome FindWhetherItLocks(IndexState& index, const model::Request& request, bool in_unit,
                             bool* locks);
  Outcome ExecuteOnTable(IndexState& index, const model::Request& request, model::RowSink& sink);
  /// Executes the request on the row that it shares. `*is_done`: whether it has done so.
  Outcome ExecuteOnOpenRow(IndexState& index, const model::Request& request, bool locks,
                           model::RowSink& sink, bool* is_done);
  bool Admits(IndexState& index, const model::Request& request, Outcome* outcome);
  Outcome Read(IndexState& index, const model::Find& find, model::RowSink& sink);
  Outcome SendRows(OpenTable& open, IndexState& index, const model::Find& find,
                   model::RowSink& sink);
  /// Turns an error of the server into what the caller has to do about it: Outcome::Result, and
  /// whether the transaction is lost.
  void Classify(Outcome* outcome);
  uint64_t RowsPassed() const;
  Cluster::TurnEnd EndInCluster();
  void TakeTurnEnd(Cluster::LostBy loss, bool is_committed, Outcome* outcome);
  void EndTurn();
  void Recover();
  void Renew();
  void CreateThdAnew();
  void FollowVariables();
  void BringUpToDate();

  /// Where the session is in the grammar of engine/session.h.
  enum class Stage : uint8_t {
    kIdle,
    kInTurn,
    kInRow,
    kInUnit,
    kPrepared,  ///< After PrepareCommit: nothing more is executed in the turn.
  };

  const LockWait lock_wait_;
  const SessionUser user_;
  Stage stage_ = Stage::kIdle;
  bool has_thread_data_ = false;  ///< The server keeps data of the thread, until my_thread_end.
  SessionThd thd_;
  Tables tables_;
  TurnChanges changes_;
  Judge judge_;
  TableAudit audit_;
  Committer committer_;
  Cluster cluster_;
  Writer writer_;
  MergedRow row_;
  OpenRows open_rows_{tables_, row_};
  RowFinder finder_;
  CellBuffers cells_;
  bool writes_ = false;
  bool is_offline_ = false;   ///< Nothing of the turn is served.
  bool lost_events_ = false;  ///< The turn's part of the binary log did not fit on its disk.
  bool holds_rows_ = false;
  bool refuses_waits_ = false;  ///< A session that waits for locks does not wait at present.
  bool must_flush_ = false;     ///< A request other than a relaxed write has an answer.
  Outcome prepared_;            ///< The outcome of PrepareCommit.
  std::string description_;
  IndexRegistry& indexes_;
  std::vector<std::unique_ptr<IndexState>> states_;  ///< By the index's id.
};

}  // namespace rowsocket::engine::server
