#include "engine/server/session.h"

#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "base/require.h"
#include "engine/server/engine_error.h"
#include "engine/server/facts.h"
#include "engine/server/server_log.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

/// The pause between two tries of a session that has lost its THD to make another one.
constexpr std::chrono::milliseconds kNoMemoryPause{100};

/// Folds the case of a name. A text that is no name stays as it is, and is refused later: folding
/// would stop at its first wrong byte.
void Fold(std::string* name) {
  if (!IsWellFormed(*files_charset_info, *name) || name->find('\0') != std::string::npos) return;
  FoldCase(files_charset_info, name);
}

/// The outcome of a commit whose requests may succeed in transactions of their own.
Outcome MustSplit() {
  return Outcome::Make(Outcome::Result::kMustSplit, model::Error::Engine(ER_TRANS_CACHE_FULL));
}

/// Names with their case folded as the parser of SQL folds it, so that two spellings of a table are
/// one.
IndexNames Folded(IndexNames names) {
  Fold(&names.db);
  Fold(&names.table);
  return names;
}

}  // namespace

ServerSession::ServerSession(LockWait lock_wait, const WaitTimeouts& timeouts, SessionUser user,
                             IndexRegistry& indexes)
    : lock_wait_(lock_wait),
      user_(user),
      thd_(timeouts, user),
      tables_(thd_),
      judge_(thd_, tables_, lock_wait, timeouts.table_lock_s),
      committer_(thd_, changes_, lock_wait == LockWait::kServer),
      cluster_(thd_, tables_),
      writer_(thd_, tables_, changes_),
      row_(thd_, tables_, changes_),
      indexes_(indexes) {}

ServerSession::~ServerSession() {
  if (thd_.get() != nullptr) {
    judge_.Close();
    audit_.Close();
    tables_.CloseAll();
    thd_.Destroy();
  }
  if (has_thread_data_) my_thread_end();
}

bool ServerSession::Start() {
  if (my_thread_init()) throw std::bad_alloc();
  has_thread_data_ = true;
  return thd_.Create();
}

bool ServerSession::ShouldStop() const { return ServerStopping(); }

void ServerSession::Describe(std::string_view text) {
  description_ = std::string(user_.name) + ": ";
  description_.append(text);
  thd_.Describe(description_);
}

// After KILL a new THD takes over; indexes that clients opened are looked up again by their names.
void ServerSession::Recover() {
  if (!thd_.killed() || ServerStopping()) return;
  if (!thd_.must_end()) {
    thd_.ForgetKillQuery();
    return;
  }
  LogNote("thread %llu (%s) was killed; a new one takes over", thd_.id(), description_.c_str());
  Renew();
}

// The server resolves the expressions of a table when it opens the table, by the variables of that
// moment.
void ServerSession::FollowVariables() {
  if (thd_.RefreshVariables()) tables_.CloseAll();
}

// MySQL's table cache keeps the expressions as they were resolved, so that a table opened outside
// of a turn must not be opened with the variables of an earlier turn. Within a turn, neither the
// tables nor the THD may change, because statements and rows of the turn are open.
void ServerSession::BringUpToDate() {
  if (stage_ != Stage::kIdle) return;
  Recover();
  FollowVariables();
}

// The server's own schemas are no secret, and a privilege on them would not help.
Outcome ServerSession::MayOpen(const IndexNames& names, const model::Account& account) {
  if (IsSystemSchema(names.db)) return Outcome::Fail(ErrorCode::kSystemTable);
  if (stage_ == Stage::kIdle) Recover();
  // An open is judged by the present grants, and may wait for their lock even if the open before
  // has given up its wait.
  judge_.LookAnew();
  Outcome outcome = judge_.MayOpen(lower_case_table_names == 0 ? names : Folded(names), account);
  Classify(&outcome);
  return outcome;
}

Outcome ServerSession::OpenIndex(const IndexNames& names, std::shared_ptr<Index>* index) {
  BringUpToDate();
  IndexNames wanted = lower_case_table_names == 0 ? names : Folded(names);
  Outcome outcome = wanted.lists != IndexNames::Lists::kNamed ? ListColumns(&wanted) : Outcome();
  if (!outcome.ok()) {
    Classify(&outcome);
    return outcome;
  }
  std::shared_ptr<Index> made = indexes_.Get(wanted);
  OpenTable* open = nullptr;
  outcome = IndexStateOf(*made).ResolveForRead(tables_, &open);
  if (outcome.ok())
    *index = std::move(made);
  else
    Classify(&outcome);
  return outcome;
}

Outcome ServerSession::ListColumns(IndexNames* names) {
  OpenTable* open = nullptr;
  const Outcome outcome = tables_.Open(names->db, names->table, Access::kRead, &open);
  if (!outcome.ok()) return outcome;
  const auto lists = std::exchange(names->lists, IndexNames::Lists::kNamed);
  if (names->keeps_listed_columns) names->kept_lists = lists;
  return Outcome::Of(ColumnsOf(*open->table, *names, lists, &names->columns));
}

Outcome ServerSession::EstimateRows(Index& index, uint64_t* rows) {
  BringUpToDate();
  OpenTable* open = nullptr;
  Outcome outcome = IndexStateOf(index).ResolveForRead(tables_, &open);
  if (outcome.ok()) {
    handler* const file = open->table->file;
    if (file->info(HA_STATUS_VARIABLE | HA_STATUS_NO_LOCK) == 0) *rows = file->stats.records;
  } else {
    Classify(&outcome);
  }
  return outcome;
}

Outcome ServerSession::Inspect(Index& index, IndexFacts* facts) {
  BringUpToDate();
  return FindFacts(index, facts);
}

Outcome ServerSession::InspectAtOnce(Index& index, IndexFacts* facts) {
  if (thd_.killed()) return Outcome::Fail(ErrorCode::kKilled);
  if (stage_ == Stage::kIdle) FollowVariables();
  return FindFacts(index, facts);
}

Outcome ServerSession::FindFacts(Index& index, IndexFacts* facts) {
  IndexState& state = IndexStateOf(index);
  OpenTable* open = nullptr;
  Outcome outcome = state.ResolveForRead(tables_, &open);
  if (outcome.ok())
    *facts = FactsOf(*open->table, state.key_info(*open), state.column_fields());
  else
    Classify(&outcome);
  return outcome;
}

IndexState& ServerSession::IndexStateOf(const Index& index) {
  if (index.id() >= states_.size()) states_.resize(index.id() + 1);
  std::unique_ptr<IndexState>& state = states_[index.id()];
  if (state == nullptr || state->serial() != index.serial()) {
    state = std::make_unique<IndexState>(index);
  }
  return *state;
}

void ServerSession::BeginTurn(bool writes) {
  ROWSOCKET_REQUIRE(stage_ == Stage::kIdle);
  stage_ = Stage::kInTurn;
  Recover();
  writes_ = writes;
  is_offline_ = IsOffline();
  judge_.LookAnew();
  must_flush_ = holds_rows_ = false;
  if (refuses_waits_) RefuseWaits(false);
  prepared_ = Outcome();
  THD* thd = thd_.get();
  // The binary log identifies a transaction by the query id of its first statement, which may be a
  // find. If two transactions had one query id, the recovery from a crash could commit a
  // transaction that no replica has.
  if (writes)
    thd_.SetTime();
  else
    thd->set_time();
  FollowVariables();
  tables_.BeginTurn(writes);
  changes_.BeginTurn();
  committer_.Begin(writes);
  cluster_.Begin(writes);
}

Outcome ServerSession::Execute(Index& index, const model::Request& request, model::RowSink& sink) {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInTurn || stage_ == Stage::kInRow ||
                    stage_ == Stage::kInUnit);
  ROWSOCKET_REQUIRE(writes_ || !request.is_write());
  ROWSOCKET_REQUIRE(stage_ != Stage::kInRow || RowTakes(request) == NotMergeable::kNone);
  IndexState& index_state = IndexStateOf(index);
  Outcome outcome;
  const uint64_t passed_before = RowsPassed();
  const Outcome& refusal = cluster_.refusal(request.is_write());
  if (is_offline_) [[unlikely]] {
    outcome = Outcome::Fail(ErrorCode::kOffline);
  } else if (!refusal.ok()) {
    outcome = refusal;
  } else if (thd_.killed()) {
    outcome = Outcome::Fail(ErrorCode::kKilled);
  } else if (request.account != nullptr && !Admits(index_state, request, &outcome)) [[unlikely]] {
    Classify(&outcome);
    return outcome;
  } else if (row_.is_open()) {
    outcome = row_.Execute(request, sink);
  } else {
    outcome = ExecuteOnTable(index_state, request, sink);
  }
  outcome.rows_passed = RowsPassed() - passed_before;
  Classify(&outcome);
  judge_.HoldLocks();
  must_flush_ = must_flush_ || !(request.relaxed || outcome.result == Outcome::Result::kBusy);
  return outcome;
}

bool ServerSession::Admits(IndexState& index, const model::Request& request, Outcome* outcome) {
  *outcome = judge_.MayExecute(index, request);
  return outcome->ok();
}

Outcome ServerSession::MayExecute(Index& index, const model::Request& request) {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInTurn || stage_ == Stage::kInRow ||
                    stage_ == Stage::kInUnit);
  Outcome outcome;
  if (is_offline_)
    outcome = Outcome::Fail(ErrorCode::kOffline);
  else if (thd_.killed())
    outcome = Outcome::Fail(ErrorCode::kKilled);
  else if (request.account != nullptr)
    Admits(IndexStateOf(index), request, &outcome);
  Classify(&outcome);
  return outcome;
}

uint64_t ServerSession::RowsPassed() const {
  const auto& counts = thd_.get()->status_var;
  return counts.ha_read_next_count + counts.ha_read_prev_count;
}

void ServerSession::Classify(Outcome* outcome) {
  using Result = Outcome::Result;
  if (outcome->ok() || outcome->result == Outcome::Result::kRowLost) return;
  const Cluster::LostBy loss = cluster_.LossOf(changes_.has_changed_rows());
  if (loss != Cluster::LostBy::kNone) return cluster_.TellLoss(loss, outcome);
  Result& result = outcome->result;
  lost_events_ = lost_events_ || Statement::LostEvents(*outcome);
  if (outcome->error.code == ErrorCode::kDeadlock) result = Result::kDeadlock;
  if (outcome->error.code == ErrorCode::kLockWait) result = Result::kBusy;
  // The table was rebuilt after the turn's read view was made: a later turn can read it.
  if (outcome->error == model::Error::Engine(HA_ERR_TABLE_DEF_CHANGED)) result = Result::kGivesWay;
  if (lock_wait_ == LockWait::kNever || refuses_waits_) {
    if (result == Result::kGivesWay) result = Result::kBusy;
  } else if (result == Result::kBusy) {
    result = Result::kFailed;  // The session has waited already.
  }
  if (outcome->error.code == ErrorCode::kKilled) {
    // KILL QUERY ends this request alone; after KILL CONNECTION this THD cannot go on.
    if (thd_.must_end())
      outcome->transaction_lost = true;
    else
      thd_.ForgetKillQuery();
  }
}

Outcome ServerSession::Read(IndexState& index, const model::Find& find, model::RowSink& sink) {
  OpenTable* open = nullptr;
  Outcome outcome = index.ResolveForRead(tables_, &open);
  if (!outcome.ok()) return outcome;
  thd_.StartStatement(SQLCOM_SELECT);
  if (HasGenerated(*open->table)) [[unlikely]]
    thd_.SetTime();
  outcome = tables_.Lock(*open);
  if (outcome.ok()) outcome = SendRows(*open, index, find, sink);
  if (open->lock != nullptr && !open->rolls_back) tables_.Unlock(*open);
  thd_.ClearStatement();
  return outcome;
}

Outcome ServerSession::SendRows(OpenTable& open, IndexState& index, const model::Find& find,
                                model::RowSink& sink) {
  const ErrorCode wrong = finder_.Prepare(thd_.get(), open, index, find);
  if (wrong != ErrorCode::kNone) return Outcome::Fail(wrong);
  Outcome outcome;
  for (;;) {
    const int error = finder_.Next();
    if (error == HA_ERR_END_OF_FILE) return outcome;
    if (error != 0) {
      tables_.KeepNoLocksBeyondTurn();
      return thd_.killed() ? Outcome::Fail(ErrorCode::kKilled) : Outcome::Of(EngineError(error));
    }
    for (const CellReader& reader : index.readers()) {
      if (!reader.Send(cells_, sink)) return Outcome::Fail(ErrorCode::kResultsize);
    }
    ++outcome.rows;
  }
}

bool ServerSession::PrepareCommit() {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInTurn && writes_ && open_rows_.empty());
  stage_ = Stage::kPrepared;
  prepared_ = writer_.Seal();
  if (!prepared_.ok() || cluster_.is_active() || !committer_.IsSeenBeforeItIsFlushed())
    return false;
  committer_.TakeCommitLock();
  return true;
}

// In a Galera cluster the provider certifies the turn within the server's commit, whose result is
// not final: a transaction that was aborted at the last moment may be carried out all the same.
Outcome ServerSession::Commit() {
  ROWSOCKET_REQUIRE(stage_ == Stage::kInTurn || stage_ == Stage::kPrepared);
  const bool in_cluster = cluster_.is_active();
  Outcome outcome = prepared_.ok() ? writer_.Seal() : prepared_;
  if (outcome.ok()) outcome = open_rows_.CloseAll(ClosedBy::kTurnEnd);
  tables_.EndScans();
  Cluster::LostBy loss = Cluster::LostBy::kNone;
  if (in_cluster) [[unlikely]]
    loss = cluster_.LossOf(changes_.has_changed_rows());
  Committer::Result result;
  result.failed = !outcome.ok() || loss != Cluster::LostBy::kNone || CommitStatement(thd_.get());
  if (writes_ && !result.failed) result = committer_.Commit(must_flush_);
  // What the server has committed is never run again, whatever the cluster says afterwards.
  const bool is_committed = !result.failed && changes_.has_changed_rows();
  Outcome conflict;
  if (result.failed && !result.unknown) conflict = Cluster::ConflictOf(thd_.get());
  if (result.failed) {
    if (outcome.ok()) outcome = Outcome::Of(thd_.TakeError());
    if (outcome.ok()) outcome = Outcome::Of(model::Error::Engine(ER_ERROR_DURING_COMMIT));
    if (result.must_split && !in_cluster) outcome = MustSplit();
    if (writes_ || in_cluster) committer_.RollbackTransaction();
    tables_.KeepNoLocksBeyondTurn();
    tables_.EndScans();
  }
  if (result.unknown) outcome.result = Outcome::Result::kUnknown;
  if (!conflict.ok()) outcome = conflict;
  if (in_cluster) [[unlikely]]
    TakeTurnEnd(loss, is_committed, &outcome);
  committer_.ReleaseCommitLock();
  EndTurn();
  return outcome;
}

// Sets the outcome of the commit to what has become of the transaction in the cluster.
void ServerSession::TakeTurnEnd(Cluster::LostBy loss, bool is_committed, Outcome* outcome) {
  switch (EndInCluster()) {
    case Cluster::TurnEnd::kAsServerSays:
      if (loss != Cluster::LostBy::kNone) cluster_.TellLoss(loss, outcome);
      break;
    case Cluster::TurnEnd::kReplayed:
      *outcome = Outcome();
      break;
    case Cluster::TurnEnd::kConflict:
      if (!is_committed) cluster_.TellLoss(Cluster::LostBy::kConflict, outcome);
      break;
    case Cluster::TurnEnd::kTooLarge:
      if (!outcome->ok()) *outcome = MustSplit();
      break;
    case Cluster::TurnEnd::kUnknown:
      outcome->result = Outcome::Result::kUnknown;
      break;
  }
}

// A transaction that has its place in the cluster's order and is not committed waits for that
// place. DDL before it may wait for the tables of this session, which are closed first.
Cluster::TurnEnd ServerSession::EndInCluster() {
  if (cluster_.MustCloseTables()) tables_.CloseAll();
  thd_.ClearStatement();
  return cluster_.EndTurn();
}

void ServerSession::Rollback() {
  row_.Abandon();
  open_rows_.Abandon();
  writer_.Abandon();
  tables_.KeepNoLocksBeyondTurn();
  tables_.EndScans();
  committer_.RollbackStatement();
  if (writes_ || cluster_.is_active()) committer_.RollbackTransaction();
  if (cluster_.is_active()) EndInCluster();
  committer_.ReleaseCommitLock();
  EndTurn();
  Recover();
}

void ServerSession::EndTurn() {
  ROWSOCKET_REQUIRE(!writer_.has_statement() && !row_.is_open() && open_rows_.empty());
  stage_ = Stage::kIdle;
  thd_.RestoreLockWait();
  thd_.ClearStatement();
  tables_.EndTurn();
  tables_.CloseIfWanted();
  thd_.FreeStatementMemory();
  thd_.ReleaseOldAuditPlugins();
  judge_.LookAnew();
  if (lost_events_) Renew();
}

// The THD keeps the file of its part of the binary log at its present size. If the events did not
// fit, that file would leave no room in tmpdir for other sessions, so the THD is replaced.
void ServerSession::Renew() {
  lost_events_ = false;
  tables_.CloseAll();
  thd_.Destroy();
  CreateThdAnew();
  thd_.Describe(description_);
}

// A session without a THD could do nothing, not even end, so it waits for memory. That the library
// suits the server is known since the first THD was made.
void ServerSession::CreateThdAnew() {
  while (true) {
    try {
      thd_.Create();
      return;
    } catch (const std::bad_alloc&) {
      // A THD that has not become a session entirely might, for example, wait for locks.
      thd_.Destroy();
      std::this_thread::sleep_for(kNoMemoryPause);
    }
  }
}

void ServerSession::ReleaseTables() {
  ROWSOCKET_REQUIRE(stage_ == Stage::kIdle);
  if (!tables_.empty()) tables_.CloseAll();
  states_.clear();  // Clients may have closed some of these indexes.
  audit_.Close();
  thd_.ReleaseAuditPlugins();
  Recover();
}

// The server opens the log's table in the same THD, which must have no open tables.
void ServerSession::LogSlow(const SlowRequest& request) {
  ROWSOCKET_REQUIRE(stage_ == Stage::kIdle);
  if (!TakesSlowLog(request)) return;
  ReleaseTables();
  WriteSlowLog(thd_.get(), request);
}

}  // namespace rowsocket::engine::server
