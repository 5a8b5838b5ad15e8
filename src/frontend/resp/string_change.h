// How a command changes a string and its row. What scripts decide is in string_scripts.cc.
//
// Threads: one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "frontend/resp/string_row.h"
#include "keyspace/container.h"
#include "keyspace/time.h"
#include "model/request.h"

namespace rowsocket::frontend {

/// Whether the conditions of EXPIRE let a key that now expires at `expires_ms` expire at `at_ms`.
bool MayExpire(const RespStringCommand& command, int64_t expires_ms, int64_t at_ms);
/// Whether kCompareNumberAndSet takes an absent key for equal to this text, which it expects.
bool IsZero(std::string_view text);

class RespStringChange final : public model::RowEditor {
 public:
  explicit RespStringChange(const RespCall& call);

  model::Decision Decide(std::span<const model::Value> row,
                         std::span<const model::CellChange>* changes) override;

  // Of the last decision:
  /// The error by which nothing is changed; empty: no error.
  std::string_view wrong() const { return wrong_; }
  bool done() const { return done_; }
  bool is_there() const { return is_there_; }
  const std::string& old() const { return old_; }
  const std::string& made() const { return new_; }
  /// The bytes that count as read: those of the row's value, unless it is deleted with its row, and
  /// those that the command has made beyond its own arguments.
  size_t bytes_read() const { return (deletes_ ? 0 : row_.value().size()) + bytes_made_; }
  int64_t number() const { return number_; }
  /// The milliseconds that kTimeLeft, or the script of a rate limiter, answers: PTTL's answer, but
  /// 0 for an absent key with kPeekWindow and kPeekWindowOrZero, and with the latter for a key
  /// that never expires.
  int64_t left_ms() const { return left_ms_; }

 private:
  using Expires = RespStringCommand::Expires;

  const RespStringCommand& command() const { return *call_.string_command; }
  bool expires() const { return row_.expires_ms() != keyspace::kNever; }

  model::Decision Make();
  model::Decision Set();
  model::Decision SetRange();
  model::Decision ChangeByScript();
  /// Decides the scripts of locks if the string is the lock's token.
  model::Decision ChangeLock();
  model::Decision CountInWindow();
  model::Decision PeekAtWindow();
  /// Decides kCountInGrowingWindow once its number is more than `most`.
  model::Decision GrowWindow(int64_t most);
  /// Whether the number that CountInWindow has made gets a time of expiry.
  bool BeginsWindow() const;
  int64_t TimeLeftMs() const;
  model::Decision Increment();
  model::Decision IncrementFloat();
  model::Decision Expire();
  model::Decision Decline(std::string_view why);
  /// Stores a text that the command has made from the old one; the expiry stays.
  model::Decision Store(std::string_view made);
  model::Decision Change(std::optional<std::string_view> value, Expires expires);
  bool PutValue(std::string_view value);
  bool PutCas(bool changes_value);
  bool PutExpiry(Expires expires);
  void Put(uint32_t column, const model::Value& value, bool keeps = false);
  void PutTold(uint32_t column, const model::Value& value);

  const RespCall& call_;
  base::Buffer text_;
  RespStringRow row_;
  base::Arena arena_;
  /// The changes of one value column, flags, cas and expiry; if there are more value columns, all
  /// changes are in `many_`.
  model::CellChange few_[1 + keyspace::kItemColumnsBesidesValues];
  std::vector<model::CellChange> many_;
  model::CellChange* changes_ = few_;
  size_t count_ = 0;
  keyspace::TextRoom expiry_text_, cas_text_, flags_text_;
  bool has_row_ = false;
  bool is_there_ = false;
  bool done_ = false;
  bool keeps_flags_ = false;
  bool deletes_ = false;
  size_t bytes_made_ = 0;  ///< APPEND, SETRANGE: of the new value, without the command's argument.
  int64_t number_ = 0;
  int64_t left_ms_ = 0;
  int64_t now_ms_ = 0;  ///< Expires::kAt: when the command is executed.
  int64_t at_ms_ = 0;   ///< Expires::kAt: when the key expires.
  std::string old_, new_;
  std::string_view wrong_;
};

}  // namespace rowsocket::frontend
