// What a command that changes a row, or its expiry, makes of the row.
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

/// Whether the command sets fields, so that it makes a row where there is none.
constexpr bool IsSet(RespVerb verb) {
  return verb == RespVerb::kHSet || verb == RespVerb::kHMSet || verb == RespVerb::kHSetNx;
}
constexpr bool ChangesFields(RespVerb verb) {
  return IsSet(verb) || verb == RespVerb::kHDel || verb == RespVerb::kHIncrBy ||
         verb == RespVerb::kHIncrByFloat;
}
/// Whether the call is done by a RespRowChange.
bool IsRowChange(const RespCall& call);
/// Whether the change depends on the types of the columns.
bool NeedsFacts(const RespCall& call);
/// Makes the request of a call for which IsRowChange is true, but for its editor, with what it may
/// do to the row, for the rights of its account. REQUIRES: the index is open.
void PrepareRowChange(RespCall& call, base::Arena& arena);

/// Decides about the row of a call.
class RespRowChange final : public model::RowEditor {
 public:
  /// `columns`: facts of the opened columns where NeedsFacts says so; empty otherwise.
  RespRowChange(const RespCall& call, std::span<const engine::ColumnFacts> columns);

  // Of the last decision:
  int64_t answer() const { return answer_; }
  /// Why nothing is changed; empty: nothing is wrong.
  std::string_view wrong() const { return wrong_; }
  /// HINCRBYFLOAT: the sum; a script: what the field held.
  const std::string& made() const { return made_; }
  /// Whether the field of a script was there.
  bool has_old() const { return has_old_; }
  /// Whether a script has set or deleted its field.
  bool changes_field() const { return changes_field_; }
  /// Whether there was a row that had not expired.
  bool saw_row() const { return saw_row_; }

  model::Decision Decide(std::span<const model::Value> row,
                         std::span<const model::CellChange>* changes) override;

 private:
  void Make(std::span<const model::Value> row);
  /// Whether a script changes its field. Keeps what the field held, for the reply.
  bool MayChangeField(std::span<const model::Value> row, uint32_t columns);
  /// DEL, EXPIRE and PERSIST of a row that may expire.
  void Touch(std::span<const model::Value> row);
  void Increment(std::span<const model::Value> row);
  void IncrementFloat(std::span<const model::Value> row);
  void PutExpiry(int64_t at_ms);
  void Put(uint32_t column, const model::Value& value) { changes_[count_++] = {column, value}; }
  /// A value that the client gives: it is stored as INSERT would.
  void PutGiven(uint32_t column, std::string_view value) {
    changes_[count_++] = {column, model::Value(value), /*keeps=*/false,
                          model::CellChange::Fit::kAsInserted};
  }
  /// A value that the client is told.
  void PutTold(uint32_t column, std::string_view value) {
    changes_[count_++] = {column, model::Value(value), /*keeps=*/false,
                          model::CellChange::Fit::kTold};
  }

  const RespCall& call_;
  const std::span<const engine::ColumnFacts> columns_;
  const RespGivenFields<std::string_view> given_;  ///< HSET, HMSET: what they set; else empty.
  const size_t expiry_at_;  ///< The place of the column of expiry among the cells, or kNoColumn.
  keyspace::TextRoom expiry_text_;
  bool deletes_ = false;
  std::string made_;
  bool has_old_ = false, changes_field_ = false;
  bool saw_row_ = false;
  static constexpr size_t kFew = 4;
  model::CellChange few_[kFew];
  std::vector<model::CellChange> many_;  ///< The changes, where more than kFew columns are open.
  model::CellChange* changes_ = few_;
  size_t count_ = 0;
  char text_[24];
  int64_t answer_ = 0;
  std::string_view wrong_;
};

/// The reply to a script that changes a field.
void AppendOfFieldScript(resp::Version version, const RespCall& call, const RespRowChange& change,
                         base::Buffer& out);

}  // namespace rowsocket::frontend
