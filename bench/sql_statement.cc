#include "bench/sql_statement.h"

#include <algorithm>

#include "bench/decrement.h"

namespace rowsocket::bench {
namespace {

// The statements of sql-purchase-4, by how many are done before them, and their number.
constexpr size_t kUpdateStep = 1;
constexpr size_t kInsertStep = 2;
constexpr size_t kCommitStep = 3;
constexpr size_t kSteps = 4;

std::string Quoted(const std::string& name) { return "`" + name + "`"; }

std::string QuotedList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + Quoted(name);
  return list;
}

size_t LongestText(const Options& options) {
  return std::max({JoinedBytesMax(options.values), JoinedBytesMax(options.set),
                   options.key.MaxBytes(), kNumberBytesMax});
}

}  // namespace

SqlStatement::Kind SqlStatement::KindOf(const std::string& workload) {
  if (workload == "sql-get-prepared") return Kind::kGetPrepared;
  if (workload == "sql-in") return Kind::kIn;
  if (workload == "sql-range") return Kind::kRange;
  if (workload == "handler-read") return Kind::kHandlerRead;
  if (workload == "sql-update") return Kind::kUpdate;
  if (workload == "sql-insert") return Kind::kInsert;
  if (workload == "sql-replace") return Kind::kReplace;
  if (workload == "sql-purchase") return Kind::kPurchase;
  if (workload == "sql-purchase-4") return Kind::kPurchaseSteps;
  if (workload == "sql-decrement") return Kind::kDecrement;
  return Kind::kGet;
}

SqlStatement::SqlStatement(const Options& options, Shared* shared, uint64_t seed)
    : options_(options),
      shared_(shared),
      kind_(KindOf(options.workload)),
      keys_per_request_(kind_ == Kind::kIn || kind_ == Kind::kInsert ? options.batch : 1),
      chooser_(options.keys, options.rows, seed),
      number_keys_(options.key_text == "{n}"),
      scratch_(LongestText(options)) {
  const std::string table = Quoted(options.table);
  const std::string key = Quoted(options.key_column);
  const std::string stock = Quoted(options.stock_column);
  const std::string select = "SELECT " +
                             (options.columns.empty() ? key : QuotedList(options.columns)) +
                             " FROM " + table + " WHERE " + key;
  const std::string columns = " (" + key +
                              (options.columns.empty() ? "" : ", " + QuotedList(options.columns)) +
                              ") VALUES ";
  switch (kind_) {
    case Kind::kGet:
    case Kind::kGetPrepared:
      prefix_ = select + " = ";
      break;
    case Kind::kIn:
      prefix_ = select + " IN (";
      suffix_ = ")";
      break;
    case Kind::kRange:
      prefix_ = select + " >= ";
      suffix_ = " ORDER BY " + key + " LIMIT " + std::to_string(options.limit);
      break;
    case Kind::kHandlerRead:
      prefix_ = "HANDLER " + table + " READ " + Quoted(options.index) + " = (";
      suffix_ = ")";
      break;
    case Kind::kUpdate:
      prefix_ = "UPDATE " + table + " SET ";
      suffix_ = " WHERE " + key + " = ";
      break;
    case Kind::kInsert:
      prefix_ = "INSERT INTO " + table + columns;
      break;
    case Kind::kReplace:
      prefix_ = "REPLACE INTO " + table + columns;
      break;
    case Kind::kPurchase:
      prefix_ = "CALL purchase(";
      suffix_ = ")";
      break;
    case Kind::kPurchaseSteps:
      prefix_ = "BEGIN";
      break;
    case Kind::kDecrement:
      prefix_ = "UPDATE " + table + " SET " + stock + " = " + stock + " - 1 WHERE " + key + " = ";
      suffix_ = " AND " + stock + " > " + std::to_string(options.guard);
      break;
  }
}

std::string SqlStatement::Prologue() const {
  return returns_all_columns() ? "HANDLER " + Quoted(options_.table) + " OPEN" : "";
}

std::string SqlStatement::Prepared() const {
  return kind_ == Kind::kGetPrepared ? prefix_ + "?" : "";
}

void SqlStatement::AppendKey(uint64_t key) {
  if (!number_keys_) {
    AppendQuoted(options_.key, key, 0);
    return;
  }
  const char* end = WriteNumber(scratch_.data(), key);
  text_.append(scratch_.data(), static_cast<size_t>(end - scratch_.data()));
}

void SqlStatement::AppendQuoted(const Template& text, uint64_t key, uint64_t serial) {
  const char* end = text.Write(scratch_.data(), key, serial);
  text_ += '\'';
  text_.append(scratch_.data(), static_cast<size_t>(end - scratch_.data()));
  text_ += '\'';
}

void SqlStatement::AppendRow(uint64_t key, uint64_t serial) {
  text_ += '(';
  AppendKey(key);
  for (const Template& value : options_.values) {
    text_ += ", ";
    AppendQuoted(value, key, serial);
  }
  text_ += ')';
}

// The result has the rows in the order of the primary key, each row once.
void SqlStatement::AppendIn(uint64_t* keys) {
  for (size_t i = 0; i < keys_per_request_; ++i) {
    keys[i] = chooser_.Next();
    if (i != 0) text_ += ", ";
    AppendKey(keys[i]);
  }
  std::sort(keys, keys + keys_per_request_);
  uint64_t* end = std::unique(keys, keys + keys_per_request_);
  std::fill(end, keys + keys_per_request_, 0);
}

void SqlStatement::AppendSet(uint64_t key) {
  const uint64_t serial = shared_->next_serial.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < options_.set.size(); ++i) {
    if (i != 0) text_ += ", ";
    text_ += '`';
    text_ += options_.update_columns[i];
    text_ += "` = ";
    AppendQuoted(options_.set[i], key, serial);
  }
}

void SqlStatement::AppendPurchase(uint64_t key) {
  const uint64_t serial = shared_->next_serial.fetch_add(1, std::memory_order_relaxed);
  text_ += std::to_string(serial % 100'000) + ", ";
  AppendKey(key);
  text_ += ", 't" + std::to_string(serial) + "'";
}

std::string_view SqlStatement::Build(Sent* sent, uint64_t* keys) {
  text_.clear();
  if (kind_ != Kind::kGetPrepared) text_ = prefix_;
  if (kind_ == Kind::kIn) {
    AppendIn(keys);
  } else if (kind_ == Kind::kInsert) {
    keys[0] = shared_->next_insert_id.fetch_add(keys_per_request_, std::memory_order_relaxed);
    for (size_t i = 0; i < keys_per_request_; ++i) {
      if (i != 0) text_ += ", ";
      AppendRow(keys[0] + i, 0);
    }
  } else {
    const bool takes =
        kind_ == Kind::kDecrement || kind_ == Kind::kPurchase || kind_ == Kind::kPurchaseSteps;
    keys[0] = takes ? ChooseDecremented(options_, chooser_.random()) : chooser_.Next();
    if (kind_ == Kind::kRange) keys[0] = std::min(keys[0], options_.rows - options_.limit + 1);
    if (kind_ == Kind::kPurchase) {
      AppendPurchase(keys[0]);
    } else if (kind_ == Kind::kReplace) {
      AppendRow(keys[0], shared_->next_serial.fetch_add(1, std::memory_order_relaxed));
    } else if (kind_ == Kind::kUpdate) {
      AppendSet(keys[0]);
    } else if (kind_ == Kind::kGetPrepared) {
      const char* end = options_.key.Write(scratch_.data(), keys[0], 0);
      text_.append(scratch_.data(), static_cast<size_t>(end - scratch_.data()));
    } else if (kind_ != Kind::kPurchaseSteps) {
      AppendKey(keys[0]);
    }
  }
  text_ += suffix_;
  if (kind_ == Kind::kUpdate) AppendKey(keys[0]);
  sent->key = keys[0];
  return text_;
}

std::string SqlStatement::Next(size_t done, uint64_t rows, const Sent& sent) {
  text_.clear();
  const std::string stock = Quoted(options_.stock_column);
  if (done == kUpdateStep) {
    text_ = "UPDATE " + Quoted(options_.table) + " SET " + stock + " = " + stock + " - 1 WHERE " +
            Quoted(options_.key_column) + " = ";
    AppendKey(sent.key);
    text_ += " AND " + stock + " > " + std::to_string(options_.guard);
  } else if (done == kInsertStep && rows == 0) {
    text_ = "ROLLBACK";
  } else if (done == kInsertStep) {
    text_ = "INSERT INTO " + Quoted(options_.orders_table) + " (user, item, token) VALUES (";
    AppendPurchase(sent.key);
    text_ += ')';
  } else if (done == kCommitStep && rows != 0) {  // A ROLLBACK changes no rows.
    text_ = "COMMIT";
  }
  return text_;
}

Verdict SqlStatement::CheckSteps(size_t done) {
  return done == kSteps ? Verdict::kApplied : Verdict::kNotApplied;
}

size_t SqlStatement::ExpectedRows(const uint64_t* keys) const {
  if (kind_ == Kind::kRange) return options_.limit;
  if (kind_ != Kind::kIn) return 1;
  return static_cast<size_t>(std::find(keys, keys + keys_per_request_, 0) - keys);
}

bool SqlStatement::CheckCell(const uint64_t* keys, size_t row, size_t column,
                             std::string_view cell) {
  const uint64_t key = kind_ == Kind::kIn ? keys[row] : keys[0] + row;
  if (options_.values.empty()) return true;
  const char* end = options_.values[column].Write(scratch_.data(), options_.ExpectedRow(key), 0);
  return cell == std::string_view(scratch_.data(), static_cast<size_t>(end - scratch_.data()));
}

Verdict SqlStatement::CheckAffected(uint64_t rows) const {
  switch (kind_) {
    case Kind::kPurchase:  // The rows of all of its statements.
      return rows != 0 ? Verdict::kApplied : Verdict::kNotApplied;
    case Kind::kDecrement:
      if (rows > 1) return Verdict::kMismatch;
      return rows == 1 ? Verdict::kApplied : Verdict::kNotApplied;
    case Kind::kReplace:  // a REPLACE counts 2 rows when there was a row before
      return rows == 1 || rows == 2 ? Verdict::kRight : Verdict::kMismatch;
    default:
      return rows == keys_per_request_ ? Verdict::kRight : Verdict::kMismatch;
  }
}

uint32_t SqlStatement::RowsPerReply() const {
  return static_cast<uint32_t>(kind_ == Kind::kRange ? options_.limit : keys_per_request_);
}

}  // namespace rowsocket::bench
