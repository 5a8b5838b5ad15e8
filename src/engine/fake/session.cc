#include "engine/fake/session.h"

#include <algorithm>
#include <utility>

#include "base/require.h"

namespace rowsocket::engine::fake {

using model::Error;
using model::ErrorCode;

namespace {

constexpr int kDuplicateKey = 121;  // HA_ERR_FOUND_DUPP_KEY
constexpr int kNotNull = 1048;      // ER_BAD_NULL_ERROR

bool SameKey(std::span<const model::Value> key, const std::vector<std::string>& texts) {
  return std::equal(key.begin(), key.end(), texts.begin(), texts.end(),
                    [](const model::Value& value, const std::string& text) {
                      return !value.is_null() && value.text() == text;
                    });
}

std::vector<std::string> ColumnsOf(const Resolved& resolved, IndexNames::Lists lists,
                                   std::vector<std::string> named) {
  const std::vector<uint32_t>& key = resolved.index->columns;
  std::vector<std::string> columns;
  if (lists == IndexNames::Lists::kNamedThatExist) {
    const std::vector<std::string>& all = resolved.table->definition.columns;
    std::erase_if(named, [&all](const std::string& name) {
      return std::find(all.begin(), all.end(), name) == all.end();
    });
    return named;
  }
  if (lists == IndexNames::Lists::kKey) {
    for (const uint32_t column : key) columns.push_back(resolved.table->definition.columns[column]);
    return columns;
  }
  for (uint32_t i = 0; i < resolved.table->definition.columns.size(); ++i) {
    if (std::find(key.begin(), key.end(), i) != key.end()) continue;
    columns.push_back(resolved.table->definition.columns[i]);
  }
  return columns;
}

/// Whether an opened column is one of the index.
bool NamesKey(const Resolved& resolved) {
  const std::vector<uint32_t>& key = resolved.index->columns;
  return std::any_of(resolved.columns.begin(), resolved.columns.end(), [&key](uint32_t column) {
    return std::find(key.begin(), key.end(), column) != key.end();
  });
}

}  // namespace

Session::Session(Store& store, LockWait lock_wait) : store_(store), lock_wait_(lock_wait) {
  store_.Count(1, 0);
}

Session::~Session() {
  ROWSOCKET_REQUIRE(state_ == State::kIdle);
  store_.Ask({Call::Kind::kEndSession, lock_wait_});
  HoldTables(false);
  store_.locks_.Release(owner_);
  store_.Forget(owner_);
  store_.Count(-1, 0);
}

Outcome Session::OpenIndex(const IndexNames& names, std::shared_ptr<engine::Index>* index) {
  ROWSOCKET_REQUIRE(state_ != State::kLost);
  store_.locks_.ForgetInterrupt(owner_);
  Outcome outcome = store_.Ask({Call::Kind::kOpenIndex, lock_wait_, 0, &names});
  if (!outcome.ok()) return outcome;
  outcome = PassTable(names.db + "." + names.table);
  if (!outcome.ok()) return outcome;
  IndexNames wanted = names;
  const auto lists = std::exchange(wanted.lists, IndexNames::Lists::kNamed);
  if (wanted.keeps_listed_columns) wanted.kept_lists = lists;
  const bool names_them =
      lists == IndexNames::Lists::kNamed || lists == IndexNames::Lists::kNamedOutsideKey;
  if (!names_them) wanted.columns.clear();
  Resolved resolved;
  outcome = Outcome::Of(store_.Resolve(wanted, &resolved));
  if (!outcome.ok()) return outcome;
  if (lists == IndexNames::Lists::kNamedOutsideKey && NamesKey(resolved)) {
    return Outcome::Fail(ErrorCode::kFld);
  }
  HoldTables(true);
  if (!names_them) wanted.columns = ColumnsOf(resolved, lists, names.columns);
  *index = store_.indexes_.Get(wanted);
  return outcome;
}

Outcome Session::MayOpen(const IndexNames& names, const model::Account& account) {
  return store_.Ask({Call::Kind::kJudge, lock_wait_, 0, &names, nullptr, false, &account});
}

Outcome Session::MayExecute(engine::Index& index, const model::Request& request) {
  if (request.account == nullptr) return {};
  return store_.Ask(
      {Call::Kind::kJudge, lock_wait_, 0, &index.names(), &request, false, request.account});
}

Outcome Session::Inspect(engine::Index& index, IndexFacts* facts) {
  Outcome outcome = PassTable(index.names().db + "." + index.names().table);
  if (!outcome.ok()) return outcome;
  Resolved resolved;
  outcome = Outcome::Of(store_.Resolve(index.names(), &resolved));
  if (outcome.ok()) *facts = FactsOf(resolved.table->definition, *resolved.index, resolved.columns);
  return outcome;
}

Outcome Session::EstimateRows(engine::Index& index, uint64_t* rows) {
  Resolved resolved;
  const Outcome outcome = Outcome::Of(store_.Resolve(index.names(), &resolved));
  if (outcome.ok()) *rows = store_.Committed(*resolved.table)->size();
  return outcome;
}

void Session::BeginTurn(bool writes) {
  ROWSOCKET_REQUIRE(state_ == State::kIdle);
  store_.locks_.ForgetInterrupt(owner_);
  store_.Ask({Call::Kind::kBeginTurn, lock_wait_, 0, nullptr, nullptr, writes});
  state_ = State::kInTurn;
  writes_ = writes;
  refuses_waits_ = holds_rows_ = shares_rows_ = false;
  snapshot_ = store_.TakeSnapshot();
}

Outcome Session::Execute(engine::Index& index, const model::Request& request,
                         model::RowSink& sink) {
  ROWSOCKET_REQUIRE(state_ == State::kInTurn || state_ == State::kInRow);
  ROWSOCKET_REQUIRE(writes_ || !request.is_write());
  shares_rows_ = shares_rows_ || request.shares_row;
  Outcome outcome = MayExecute(index, request);
  if (outcome.ok()) {
    outcome = store_.Ask({Call::Kind::kExecute, lock_wait_, 0, &index.names(), &request});
  }
  if (outcome.ok()) {
    outcome =
        state_ == State::kInRow ? ExecuteOnRow(request, sink) : Statement(index, request, sink);
  }
  if (outcome.transaction_lost) EndTurn(State::kLost);
  return outcome;
}

Outcome Session::Statement(engine::Index& index, const model::Request& request,
                           model::RowSink& sink) {
  if (store_.locks_.ForgetInterrupt(owner_)) return Killed();
  Resolved resolved;
  Outcome outcome = Resolve(index.names(), &resolved);
  if (!outcome.ok()) return outcome;
  if (request.verb == model::Request::Verb::kFind &&
      request.find.key_parts_given > resolved.index->columns.size()) {
    return Outcome::Fail(ErrorCode::kKpnum);
  }
  if (request.find.whole_key && !IsPrimaryKey(resolved, request.find.key)) {
    return Outcome::Fail(ErrorCode::kKpnum);
  }
  const bool locks =
      before_unit_ && request.asks_by_one_key() && IsPrimaryKey(resolved, request.key());
  if (!request.is_write() && !locks) return Find(resolved, request.find, sink);
  if (before_unit_ && resolved.table->definition.permanent) {
    return Outcome::Fail(ErrorCode::kGroup);
  }
  holds_rows_ = true;
  switch (request.verb) {
    case model::Request::Verb::kFind:
      outcome = FindModify(resolved, request.find, sink);
      break;
    case model::Request::Verb::kInsert:
      outcome = Insert(resolved, request.insert);
      break;
    case model::Request::Verb::kEdit:
      outcome = Edit(resolved, request.edit);
      break;
  }
  const bool is_busy = outcome.result == Outcome::Result::kBusy;
  if (resolved.table->definition.permanent && !is_busy) MakePermanent(resolved, &outcome);
  return outcome;
}

Outcome Session::Resolve(const IndexNames& names, Resolved* resolved) {
  Outcome outcome = PassTable(names.db + "." + names.table);
  if (!outcome.ok()) return outcome;
  outcome = Outcome::Of(store_.Resolve(names, resolved));
  if (outcome.ok()) HoldTables(true);
  return outcome;
}

void Session::MakePermanent(const Resolved& resolved, Outcome* outcome) {
  store_.Commit({{resolved.table, changes_[resolved.table]}});
  changes_.erase(resolved.table);
  outcome->permanent = true;
}

Outcome Session::Find(const Resolved& resolved, const model::Find& find, model::RowSink& sink) {
  const auto seen = snapshot_.find(resolved.table);
  const bool is_snapshot = seen != snapshot_.end() && !resolved.table->definition.permanent;
  const auto rows = is_snapshot ? seen->second : store_.Committed(*resolved.table);
  Outcome outcome;
  for (const Row& row : Matching(*WithOwn(resolved, rows), *resolved.index, resolved.filter_columns,
                                 find, &outcome.rows_passed)) {
    const Outcome passed = PassRow(*resolved.table, PrimaryKey(resolved.table->definition, row));
    if (!passed.ok()) return passed;
    if (!Push(row, resolved.columns, sink)) return Outcome::Fail(ErrorCode::kResultsize);
    ++outcome.rows;
  }
  return outcome;
}

Outcome Session::FindModify(const Resolved& resolved, const model::Find& find,
                            model::RowSink& sink) {
  const TableDefinition& definition = resolved.table->definition;
  std::vector<Row> rows;
  Outcome outcome = LockMatching(resolved, find, &rows);
  if (!outcome.ok()) return outcome;
  const std::shared_ptr<const Rows> now = WithOwn(resolved, store_.Committed(*resolved.table));
  Changes changes;
  for (const Row& row : rows) {
    std::optional<Row> changed = row;
    bool counts = false;
    const Error error = ModifyRow(find, resolved.columns, sink, &changed, &counts);
    if (!error.ok()) return Outcome::Of(error);
    if (!counts) continue;
    ++outcome.rows;
    const Row key = PrimaryKey(definition, row);
    const Row changed_key = changed ? PrimaryKey(definition, *changed) : key;
    if (changed_key != key) {
      if (!std::ranges::all_of(changed_key, &Cell::has_value)) return FailEngine(kNotNull);
      const Outcome locked = LockRow(*resolved.table, changed_key);
      if (!locked.ok()) return locked;
      if (now->contains(changed_key) || changes.contains(changed_key)) {
        return FailEngine(kDuplicateKey);
      }
    }
    changes[key] = std::nullopt;
    if (changed) changes[changed_key] = std::move(*changed);
  }
  for (auto& [key, row] : changes) changes_[resolved.table][key] = std::move(row);
  return outcome;
}

Outcome Session::Insert(const Resolved& resolved, const model::Insert& insert) {
  Table& table = *resolved.table;
  Row row(table.definition.columns.size());
  for (size_t i = 0; i < insert.values.size() && i < resolved.columns.size(); ++i) {
    const model::Value& value = insert.values[i];
    row[resolved.columns[i]] = value.is_null() ? Cell() : Cell(std::string(value.text()));
  }
  Outcome outcome;
  outcome.rows = 1;
  outcome.has_insert_id = table.definition.auto_increment;
  if (outcome.has_insert_id) {
    Cell& id = row[table.definition.indexes.front().columns.front()];
    const Changes& own = changes_[resolved.table];
    if (!id || id->empty() || *id == "0") {
      do {
        outcome.insert_id = store_.NextId(table);
        id = std::to_string(outcome.insert_id);
      } while (own.contains(PrimaryKey(table.definition, row)));
    }
  }
  const Row key = PrimaryKey(table.definition, row);
  const Outcome locked = LockRow(table, key);
  if (!locked.ok()) return locked;
  Changes& own = changes_[resolved.table];
  const auto changed = own.find(key);
  const bool exists =
      changed != own.end() ? changed->second.has_value() : store_.Committed(table)->contains(key);
  if (exists) return FailEngine(kDuplicateKey);
  own[key] = std::move(row);
  return outcome;
}

Outcome Session::LockOne(const Resolved& resolved, std::span<const model::Value> key,
                         std::optional<Row>* row) {
  Row primary_key;
  for (const model::Value& value : key) primary_key.push_back(ToCell(value));
  const Outcome locked = LockRow(*resolved.table, primary_key);
  if (!locked.ok()) return locked;
  if (const auto own = changes_.find(resolved.table); own != changes_.end()) {
    const auto changed = own->second.find(primary_key);
    if (changed != own->second.end()) {
      *row = changed->second;
      return {};
    }
  }
  const std::shared_ptr<const Rows> rows = store_.Committed(*resolved.table);
  const auto found = rows->find(primary_key);
  if (found != rows->end()) *row = found->second;
  return {};
}

Outcome Session::Edit(const Resolved& resolved, const model::Edit& edit) {
  if (!IsPrimaryKey(resolved, edit.key)) return Outcome::Fail(ErrorCode::kKpnum);
  std::optional<Row> row;
  Outcome outcome = LockOne(resolved, edit.key, &row);
  if (!outcome.ok()) return outcome;
  const TableDefinition& definition = resolved.table->definition;
  const std::optional<Row> before = row;
  bool counts = false;
  const Error error = EditRow(edit, definition, resolved.columns, &row, &counts);
  if (!error.ok()) return Outcome::Of(error);
  outcome.rows = counts;
  Changes& changes = changes_[resolved.table];
  if (before) changes[PrimaryKey(definition, *before)] = std::nullopt;
  if (row) changes[PrimaryKey(definition, *row)] = std::move(row);
  return outcome;
}

RowOpening Session::BeginRow(engine::Index& index, const model::Request& request) {
  ROWSOCKET_REQUIRE(state_ == State::kInTurn && writes_ && !before_unit_);
  holds_rows_ = true;
  RowOpening opening;
  opening.outcome = MayExecute(index, request);
  if (opening.outcome.ok()) {
    opening.outcome = store_.Ask({Call::Kind::kBeginRow, lock_wait_, 0, &index.names(), &request});
  }
  OpenRow row;
  if (opening.outcome.ok()) opening.outcome = Resolve(index.names(), &row.resolved);
  if (opening.outcome.ok()) {
    opening.reason = WhyNotMerged(row.resolved, request);
    if (opening.reason != NotMergeable::kNone) return opening;
    opening.outcome = LockOne(row.resolved, request.key(), &row.read);
  }
  if (opening.outcome.ok()) {
    for (const model::Value& value : request.key()) row.key.emplace_back(value.text());
    row.now = row.read;
    row_ = std::move(row);
    state_ = State::kInRow;
  }
  if (opening.outcome.transaction_lost) EndTurn(State::kLost);
  return opening;
}

NotMergeable Session::RowTakes(const model::Request& request) const {
  ROWSOCKET_REQUIRE(state_ == State::kInRow && SameKey(request.key(), row_->key));
  return WhyNotMerged(row_->resolved, request);
}

Outcome Session::ExecuteOnRow(const model::Request& request, model::RowSink& sink) {
  ROWSOCKET_REQUIRE(RowTakes(request) == NotMergeable::kNone);
  if (store_.locks_.ForgetInterrupt(owner_)) return Killed();
  const Resolved& resolved = row_->resolved;
  std::optional<Row> changed = row_->now;
  Outcome outcome;
  if (request.verb == model::Request::Verb::kEdit) {
    bool counts = false;
    outcome = Outcome::Of(
        EditRow(request.edit, resolved.table->definition, resolved.columns, &changed, &counts));
    outcome.rows = counts;
  } else {
    outcome = FindOnRow(resolved, request.find, sink, &changed);
  }
  if (outcome.ok()) row_->now = std::move(changed);
  return outcome;
}

Outcome Session::CloseRows(OpenRowTally* tally) {
  ROWSOCKET_REQUIRE(state_ == State::kInTurn && writes_ && !before_unit_);
  Outcome outcome;
  if (shares_rows_) outcome = store_.Ask({Call::Kind::kCloseRows, lock_wait_});
  *tally = {};
  if (outcome.transaction_lost) EndTurn(State::kLost);
  return outcome;
}

Outcome Session::BeginUnit() {
  ROWSOCKET_REQUIRE(state_ == State::kInTurn && writes_ && !before_unit_);
  before_unit_ = changes_;
  return {};
}

Outcome Session::EndUnit(bool keep) {
  ROWSOCKET_REQUIRE(state_ == State::kInTurn && before_unit_);
  if (!keep) changes_ = std::move(*before_unit_);
  before_unit_.reset();
  return {};
}

Outcome Session::EndRow() {
  ROWSOCKET_REQUIRE(state_ == State::kInRow);
  const Outcome outcome = store_.Ask({Call::Kind::kEndRow, lock_wait_});
  const OpenRow row = std::move(*row_);
  row_.reset();
  state_ = State::kInTurn;
  if (outcome.transaction_lost) EndTurn(State::kLost);
  if (!outcome.ok() || row.read == row.now) return outcome;
  const TableDefinition& definition = row.resolved.table->definition;
  changes_[row.resolved.table][PrimaryKey(definition, row.read ? *row.read : *row.now)] = row.now;
  return outcome;
}

// Another session may change the find's rows during a wait, so the rows are found again until all
// of them were locked before.
Outcome Session::LockMatching(const Resolved& resolved, const model::Find& find,
                              std::vector<Row>* rows) {
  const Table& table = *resolved.table;
  for (bool locked_any = true; locked_any;) {
    locked_any = false;
    *rows = Matching(*WithOwn(resolved, store_.Committed(table)), *resolved.index,
                     resolved.filter_columns, find);
    for (const Row& row : *rows) {
      const Row key = PrimaryKey(table.definition, row);
      if (store_.locks_.IsTaken(owner_, RowLock(table.definition.name, key))) continue;
      const Outcome locked = LockRow(table, key);
      if (!locked.ok()) return locked;
      locked_any = true;
    }
  }
  return {};
}

Outcome Session::LockRow(const Table& table, const Row& primary_key) {
  return NotGranted(store_.locks_.Take(owner_, RowLock(table.definition.name, primary_key),
                                       lock_wait(), store_.lock_wait_ms()));
}

// Reads do not wait for row locks, but a delayed row stops reads, too.
Outcome Session::PassRow(const Table& table, const Row& primary_key) {
  const Locks::Granted granted =
      store_.locks_.Pass(owner_, RowLock(table.definition.name, primary_key), LockWait::kNever, 0);
  return granted == Locks::Granted::kHeld ? Outcome() : NotGranted(granted);
}

Outcome Session::PassTable(const std::string& name) {
  return NotGranted(store_.locks_.Pass(owner_, name, lock_wait_, store_.lock_wait_ms()));
}

Outcome Session::NotGranted(Locks::Granted granted) {
  if (granted == Locks::Granted::kYes) return {};
  if (granted == Locks::Granted::kInterrupted) {
    store_.locks_.ForgetInterrupt(owner_);
    return Killed();
  }
  const bool is_held = granted == Locks::Granted::kHeld;
  return Outcome::Make(is_held ? Outcome::Result::kBusy : Outcome::Result::kFailed,
                       {ErrorCode::kLockWait});
}

std::shared_ptr<const Rows> Session::WithOwn(const Resolved& resolved,
                                             std::shared_ptr<const Rows> rows) const {
  const auto own = changes_.find(resolved.table);
  if (own == changes_.end()) return rows;
  return std::make_shared<const Rows>(Apply(*rows, own->second));
}

Outcome Session::Commit() {
  ROWSOCKET_REQUIRE(state_ == State::kInTurn);
  const Outcome outcome = store_.Ask({Call::Kind::kCommit, lock_wait_});
  // A commit whose end is unknown has taken effect, but nobody knows whether the effect stays.
  if (outcome.ok() || outcome.result == Outcome::Result::kUnknown) store_.Commit(changes_);
  EndTurn(State::kIdle);
  return outcome;
}

void Session::Rollback() { EndTurn(State::kIdle); }

void Session::Interrupt() {
  store_.locks_.Interrupt(owner_);
  store_.Ask({Call::Kind::kInterrupt, lock_wait_});
}

void Session::EndTurn(State state) {
  changes_.clear();
  before_unit_.reset();
  row_.reset();
  snapshot_.clear();
  store_.locks_.Release(owner_);
  state_ = state;
}

void Session::HoldTables(bool holds) {
  if (holds == holds_tables_) return;
  holds_tables_ = holds;
  store_.Count(0, holds ? 1 : -1);
}

std::unique_ptr<engine::Session> SessionFactory::Create(LockWait lock_wait) {
  if (store_.shuts_down()) return nullptr;
  return std::make_unique<Session>(store_, lock_wait);
}

}  // namespace rowsocket::engine::fake
