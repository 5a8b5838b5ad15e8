// SQL's workloads: the text of each statement, and whether its result is right.
//
// Flow: Build fills `sent`, `keys` and the statement's text; then either CheckRow for each row and
//       CheckEnd, or CheckAffected for a statement without rows.
// Threads: one object per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload.h"

namespace rowsocket::bench {

class SqlStatement {
 public:
  SqlStatement(const Options& options, Shared* shared, uint64_t seed);

  /// A statement to execute once on each connection; empty: there is none.
  std::string Prologue() const;
  /// The text with one `?` for the key, if the workload prepares its statement; otherwise empty.
  std::string Prepared() const;
  /// HANDLER ... READ returns all columns of the table; other statements return only the columns in
  /// the options.
  bool returns_all_columns() const { return kind_ == Kind::kHandlerRead; }
  bool returns_rows() const { return kind_ <= Kind::kHandlerRead; }
  size_t KeysPerRequest() const { return keys_per_request_; }
  /// Whether a request is a transaction of several statements: BEGIN, and those of Next().
  bool has_steps() const { return kind_ == Kind::kPurchaseSteps; }

  /// The statement's text, or, with Prepared(), the text of its key; valid until the next call.
  std::string_view Build(Sent* sent, uint64_t* keys);

  /// The statement after `done` statements of the request, the last of which has changed `rows`
  /// rows; empty: the request is done. REQUIRES: has_steps().
  std::string Next(size_t done, uint64_t rows, const Sent& sent);
  /// The verdict on a request that is done after `done` statements. REQUIRES: has_steps().
  static Verdict CheckSteps(size_t done);

  /// The number of rows that the result must have, which is less than the number of keys when some
  /// keys are equal.
  size_t ExpectedRows(const uint64_t* keys) const;
  /// Whether `cell` is right for column `column` of row `row` of the result.
  bool CheckCell(const uint64_t* keys, size_t row, size_t column, std::string_view cell);
  Verdict CheckAffected(uint64_t rows) const;
  /// The number of rows that a right reply counts for.
  uint32_t RowsPerReply() const;

 private:
  enum class Kind : uint8_t {
    kGet,
    kGetPrepared,
    kIn,
    kRange,
    kHandlerRead,  ///< The last kind that returns rows: returns_rows() compares with it.
    kUpdate,
    kInsert,
    kReplace,
    kDecrement,
    kPurchase,
    kPurchaseSteps,
  };

  static Kind KindOf(const std::string& workload);
  void AppendPurchase(uint64_t key);
  void AppendKey(uint64_t key);
  void AppendQuoted(const Template& text, uint64_t key, uint64_t serial);
  void AppendRow(uint64_t key, uint64_t serial);
  void AppendIn(uint64_t* keys);
  void AppendSet(uint64_t key);

  const Options& options_;
  Shared* shared_;
  const Kind kind_;
  const size_t keys_per_request_;
  KeyChooser chooser_;
  const bool number_keys_;  ///< Keys are numbers, written without quotes.
  std::string prefix_;
  std::string suffix_;
  std::string text_;
  std::vector<char> scratch_;
};

}  // namespace rowsocket::bench
