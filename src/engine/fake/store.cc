#include "engine/fake/store.h"

#include <algorithm>
#include <charconv>

namespace rowsocket::engine::fake {

using model::ErrorCode;

namespace {

/// The server's number for max_binlog_cache_size (ER_TRANS_CACHE_FULL).
constexpr int kCacheFull = 1197;
/// How long another user's lock is waited for; far longer than anything in a test takes.
constexpr int64_t kHoldingWaitMs = 20'000;

const IndexDefinition* FindIndex(const TableDefinition& table, const IndexNames& names) {
  const std::string& name = names.index;
  if (name.empty() || name == "PRIMARY") return &table.indexes.front();
  if (names.index_is_number()) {
    const size_t number = static_cast<size_t>(std::stoul(name));
    return number < table.indexes.size() ? &table.indexes[number] : nullptr;
  }
  for (const IndexDefinition& index : table.indexes) {
    if (index.name == name) return &index;
  }
  return nullptr;
}

bool FindColumns(const TableDefinition& table, const std::vector<std::string>& names,
                 std::vector<uint32_t>* positions) {
  for (const std::string& name : names) {
    const auto found = std::find(table.columns.begin(), table.columns.end(), name);
    if (found == table.columns.end()) return false;
    positions->push_back(static_cast<uint32_t>(found - table.columns.begin()));
  }
  return true;
}

}  // namespace

Outcome Deadlock() {
  Outcome outcome = Outcome::Make(Outcome::Result::kDeadlock, {ErrorCode::kDeadlock});
  outcome.transaction_lost = true;
  return outcome;
}

Outcome MustSplit() {
  Outcome outcome = Outcome::Make(Outcome::Result::kMustSplit, model::Error::Engine(kCacheFull));
  outcome.transaction_lost = true;
  return outcome;
}

Outcome Killed() { return Outcome::Fail(ErrorCode::kKilled); }

Outcome KilledTurn() {
  Outcome outcome = Killed();
  outcome.transaction_lost = true;
  return outcome;
}

Hook DeadlockAt(std::vector<uint64_t> statements) {
  return [statements = std::move(statements)](const Call& call) {
    const bool hit =
        call.kind == Call::Kind::kExecute &&
        std::find(statements.begin(), statements.end(), call.number) != statements.end();
    return hit ? Deadlock() : Outcome();
  };
}

Hook FailCommits(uint64_t count, model::Error error) {
  return [count, error](const Call& call) {
    Outcome outcome;
    if (call.kind == Call::Kind::kCommit && call.number <= count) outcome = Outcome::Of(error);
    return outcome;
  };
}

std::string FirstValue(const model::Request& request) {
  const auto values =
      request.verb == model::Request::Verb::kInsert ? request.insert.values : request.key();
  return values.empty() ? std::string() : std::string(values.front().text());
}

std::string RowLock(const std::string& table, const Row& primary_key) {
  std::string name = table;
  for (const Cell& cell : primary_key) name.append("/").append(cell.value_or("NULL"));
  return name;
}

void Store::CreateTable(const TableDefinition& definition, const std::vector<Row>& rows) {
  Rows by_key;
  for (const Row& row : rows) by_key[PrimaryKey(definition, row)] = row;
  auto table = std::make_shared<Table>(
      Table{definition, std::make_shared<const Rows>(std::move(by_key)), 1});
  std::lock_guard lock(mutex_);
  tables_[definition.name] = std::move(table);
}

void Store::DropTable(const std::string& name) {
  std::lock_guard lock(mutex_);
  tables_.erase(name);
}

std::string Store::Dump(const std::string& table) const {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [key, row] : *tables_.at(table)->rows) {
    for (const Cell& cell : row) text.append(cell.value_or("NULL")).append(1, ',');
    text.back() = ';';
  }
  return text;
}

size_t Store::RowCount(const std::string& table) const {
  std::lock_guard lock(mutex_);
  return tables_.at(table)->rows->size();
}

void Store::SetHook(Hook hook) {
  std::lock_guard lock(mutex_);
  hook_ = hook ? std::make_shared<const Hook>(std::move(hook)) : nullptr;
  hook_calls_ = {};
}

Outcome Store::Ask(Call call) {
  std::shared_ptr<const Hook> hook;
  {
    std::lock_guard lock(mutex_);
    ++calls_[static_cast<size_t>(call.kind)];
    call.number = ++hook_calls_[static_cast<size_t>(call.kind)];
    hook = hook_;
  }
  return hook != nullptr ? (*hook)(call) : Outcome();
}

std::unique_ptr<Holding> Store::Hold(const std::string& lock_name, LockWait wait) {
  auto holding = std::make_unique<Holding>(locks_);
  const Locks::Granted granted = locks_.Take(holding->owner(), lock_name, wait, kHoldingWaitMs);
  return granted == Locks::Granted::kYes ? std::move(holding) : nullptr;
}

std::unique_ptr<Holding> Store::LockRow(const std::string& table, const Row& primary_key,
                                        LockWait wait) {
  return Hold(RowLock(table, primary_key), wait);
}

std::unique_ptr<Holding> Store::LockTable(const std::string& table, LockWait wait) {
  return Hold(table, wait);
}

std::unique_ptr<Holding> Store::DelayRow(const std::string& table, const Row& primary_key) {
  auto holding = std::make_unique<Holding>(locks_);
  locks_.Delay(holding->owner(), RowLock(table, primary_key));
  return holding;
}

void Store::SetLockWaitMs(int64_t ms) {
  std::lock_guard lock(mutex_);
  lock_wait_ms_ = ms;
}

void Store::Describe(Locks::Owner& owner, std::string_view text) {
  std::lock_guard lock(mutex_);
  descriptions_[&owner] = text;
}

void Store::Forget(Locks::Owner& owner) {
  std::lock_guard lock(mutex_);
  descriptions_.erase(&owner);
}

void Store::KillStatement(const std::string& description) {
  std::lock_guard lock(mutex_);
  for (const auto& [owner, text] : descriptions_) {
    if (text == description) locks_.Interrupt(*owner);
  }
}

void Store::LogSlow(const SlowRequest& request) {
  std::lock_guard lock(mutex_);
  slow_texts_.emplace_back(request.text);
}

void Store::TellAccess(const TableAccess& access) {
  std::lock_guard lock(mutex_);
  accesses_.push_back(std::string(access.user) + (access.writes ? " write " : " read ") +
                      std::string(access.schema) + "." + std::string(access.table));
}

std::vector<std::string> Store::Accesses() const {
  std::lock_guard lock(mutex_);
  return accesses_;
}

std::vector<std::string> Store::SlowTexts() const {
  std::lock_guard lock(mutex_);
  return slow_texts_;
}

void Store::ShutDown() {
  std::lock_guard lock(mutex_);
  shuts_down_ = true;
}

size_t Store::sessions() const {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(sessions_);
}

size_t Store::sessions_with_tables() const {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(sessions_with_tables_);
}

uint64_t Store::calls(Call::Kind kind) const {
  std::lock_guard lock(mutex_);
  return calls_[static_cast<size_t>(kind)];
}

uint64_t Store::rows_written() const {
  std::lock_guard lock(mutex_);
  return rows_written_;
}

ErrorCode Store::Resolve(const IndexNames& names, Resolved* resolved) const {
  std::lock_guard lock(mutex_);
  const auto found = tables_.find(names.db + "." + names.table);
  if (found == tables_.end()) return ErrorCode::kOpenTable;
  *resolved = {};
  resolved->table = found->second;
  const TableDefinition& definition = found->second->definition;
  resolved->index = FindIndex(definition, names);
  if (resolved->index == nullptr) return ErrorCode::kIdxnum;
  const bool known = FindColumns(definition, names.columns, &resolved->columns) &&
                     FindColumns(definition, names.filter_columns, &resolved->filter_columns);
  return known ? ErrorCode::kNone : ErrorCode::kFld;
}

Store::Snapshot Store::TakeSnapshot() const {
  std::lock_guard lock(mutex_);
  Snapshot snapshot;
  for (const auto& [name, table] : tables_) snapshot[table] = table->rows;
  return snapshot;
}

std::shared_ptr<const Rows> Store::Committed(const Table& table) const {
  std::lock_guard lock(mutex_);
  return table.rows;
}

uint64_t Store::NextId(Table& table) {
  std::lock_guard lock(mutex_);
  if (!table.rows->empty()) {
    const std::string last = table.rows->rbegin()->first.front().value_or("0");
    uint64_t used = 0;
    std::from_chars(last.data(), last.data() + last.size(), used);
    table.next_id = std::max(table.next_id, used + 1);
  }
  return table.next_id++;
}

void Store::Commit(const std::map<std::shared_ptr<Table>, Changes>& changes) {
  std::lock_guard lock(mutex_);
  for (const auto& [table, of_table] : changes) {
    table->rows = std::make_shared<const Rows>(Apply(*table->rows, of_table));
    rows_written_ += of_table.size();
  }
}

void Store::Count(int sessions, int with_tables) {
  std::lock_guard lock(mutex_);
  sessions_ += sessions;
  sessions_with_tables_ += with_tables;
}

int64_t Store::lock_wait_ms() const {
  std::lock_guard lock(mutex_);
  return lock_wait_ms_;
}

bool Store::shuts_down() const {
  std::lock_guard lock(mutex_);
  return shuts_down_;
}

}  // namespace rowsocket::engine::fake
