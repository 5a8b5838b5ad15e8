// How a command changes a row, or its expiry.
//
// Threads: one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "engine/session.h"
#include "frontend/resp/fields.h"
#include "frontend/resp/work.h"
#include "keyspace/time.h"
#include "model/request.h"

namespace rowsocket::frontend {

/// Whether the command makes its row if there is none.
constexpr bool MakesRows(RespVerb verb) {
  return verb == RespVerb::kHSet || verb == RespVerb::kHMSet || verb == RespVerb::kHSetNx;
}
constexpr bool ChangesFields(RespVerb verb) {
  return MakesRows(verb) || verb == RespVerb::kHDel || verb == RespVerb::kHIncrBy ||
         verb == RespVerb::kHIncrByFloat;
}
/// Whether a RespRowChange carries out the call.
bool IsRowChange(const RespCall& call);
/// Whether the change depends on the types of the columns.
bool NeedsFacts(const RespCall& call);
/// Makes the request of a call for which IsRowChange is true, without its editor. The request says
/// what it may do to the row, by which the account's rights are judged. REQUIRES: the index is
/// open.
void PrepareRowChange(RespCall& call, base::Arena& arena);

/// Decides about the row of a call.
class RespRowChange final : public model::RowEditor {
 public:
  /// `columns`: facts of the opened columns if NeedsFacts says so, otherwise empty.
  RespRowChange(const RespCall& call, std::span<const engine::ColumnFacts> columns);

  // Of the last decision:
  int64_t answer() const { return answer_; }
  /// The error by which nothing is changed; empty: no error.
  std::string_view wrong() const { return wrong_; }
  /// HINCRBYFLOAT: the sum; a script: the former value of the field.
  const std::string& made() const { return made_; }
  /// Whether a script's field existed.
  bool has_old() const { return has_old_; }
  /// Whether a script has set or deleted its field.
  bool changes_field() const { return changes_field_; }
  /// The bytes of the row's cells, unless they are deleted with the row.
  size_t bytes_read() const { return deletes_ ? 0 : bytes_shown_; }
  /// Whether there was a row that had not expired.
  bool saw_row() const { return saw_row_; }

  model::Decision Decide(std::span<const model::Value> row,
                         std::span<const model::CellChange>* changes) override;

 private:
  void Make(std::span<const model::Value> row);
  /// Whether a script changes its field. Keeps the field's former value for the reply.
  bool MayChangeField(std::span<const model::Value> row, uint32_t columns);
  /// Decides DEL, EXPIRE and PERSIST of a row that may expire.
  void Touch(std::span<const model::Value> row);
  void Increment(std::span<const model::Value> row);
  void IncrementFloat(std::span<const model::Value> row);
  void PutExpiry(int64_t at_ms);
  void Put(uint32_t column, const model::Value& value) { changes_[count_++] = {column, value}; }
  /// Adds a change to a value that the client gives, which is stored as INSERT stores it.
  void PutGiven(uint32_t column, std::string_view value) {
    changes_[count_++] = {column, model::Value(value), /*keeps=*/false,
                          model::CellChange::Fit::kAsInserted};
  }
  /// Adds a change to a value that the reply shows, so that the column has to keep it exactly.
  void PutTold(uint32_t column, std::string_view value) {
    changes_[count_++] = {column, model::Value(value), /*keeps=*/false,
                          model::CellChange::Fit::kTold};
  }

  const RespCall& call_;
  const std::span<const engine::ColumnFacts> columns_;
  const RespGivenFields<std::string_view> given_;  ///< The pairs of HSET and HMSET; otherwise
                                                   ///< empty.
  const size_t expiry_at_;  ///< The position of the column of expiry among the cells, or kNoColumn.
  keyspace::TextRoom expiry_text_;
  bool deletes_ = false;
  std::string made_;
  bool has_old_ = false, changes_field_ = false;
  bool saw_row_ = false;
  size_t bytes_shown_ = 0;
  static constexpr size_t kFew = 4;
  model::CellChange few_[kFew];
  std::vector<model::CellChange> many_;  ///< The changes, if more than kFew columns are open.
  model::CellChange* changes_ = few_;
  size_t count_ = 0;
  char text_[24];
  int64_t answer_ = 0;
  std::string_view wrong_;
};

/// Appends the reply to a script that changes a field.
void AppendOfFieldScript(resp::Version version, const RespCall& call, const RespRowChange& change,
                         base::Buffer& out);

}  // namespace rowsocket::frontend
