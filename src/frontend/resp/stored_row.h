// A row of the store: what it holds, and what a command makes of it.
//
// Threads: an object has one; the functions are pure but for the clock.
#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontend/resp/numbers.h"
#include "frontend/resp/work.h"
#include "model/row_sink.h"

namespace rowsocket::frontend {

/// The columns of the store that commands on one string open.
enum StoredColumn : uint32_t { kValue, kExpires };
inline constexpr std::string_view kNoFloat = "ERR value is not a valid float";
inline constexpr std::string_view kNoInteger = "ERR value is not an integer or out of range";

/// Milliseconds since 1970.
inline int64_t NowMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// Whether the column `expires` says that the row has expired.
inline bool IsExpired(const model::Value& expires) {
  int64_t at_ms = 0;
  return !expires.is_null() && ParsePlainInteger(expires.text(), &at_ms) && at_ms <= NowMs();
}

class StoredRow final : public model::RowSink {
 public:
  bool Cell(std::string_view text) override {
    (at_++ == kValue ? value_ : expires_) = text;
    has_expires_ = has_expires_ || at_ > kExpires;
    return true;
  }
  bool NullCell() override {
    ++at_;
    return true;
  }
  bool is_there() const {
    return at_ != 0 && !(has_expires_ && IsExpired(model::Value(std::string_view(expires_))));
  }
  const std::string& value() const { return value_; }
  /// -1: never.
  int64_t expires_ms() const {
    int64_t at_ms = -1;
    if (has_expires_) ParsePlainInteger(expires_, &at_ms);
    return at_ms;
  }

 private:
  uint32_t at_ = 0;
  bool has_expires_ = false;
  std::string value_, expires_;
};

/// Decides about the row of a command that changes a string, and answers the command.
class StoredChange final : public model::RowEditor {
 public:
  explicit StoredChange(const RespCall& call) : call_(call) {}

  model::Decision Decide(std::span<const model::Value> row,
                         std::span<const model::CellChange>* changes) override {
    is_there_ = !row.empty() && !IsExpired(row[kExpires]);
    old_ = is_there_ ? std::string(row[kValue].text()) : std::string();
    number_ = 0;
    done_ = false;
    wrong_ = {};
    count_ = 0;
    at_ms_ = stored().at_ms;
    if (call_.must_be_absent && is_there_) return model::Decision::kKeep;
    const model::Decision decision = Make(row);
    *changes = {changes_, count_};
    return decision;
  }

  std::string_view wrong() const { return wrong_; }
  bool done() const { return done_; }
  bool is_there() const { return is_there_; }
  const std::string& old() const { return old_; }
  const std::string& made() const { return new_; }
  int64_t number() const { return number_; }

 private:
  const RespStored& stored() const { return *call_.stored; }

  model::Decision Make(std::span<const model::Value> row) {
    switch (call_.verb) {
      case RespVerb::kDel:
      case RespVerb::kGetDel:
        done_ = is_there_;
        return row.empty() ? model::Decision::kKeep : model::Decision::kDelete;
      case RespVerb::kExpire:
        return Expire(row);
      case RespVerb::kPersist:
        done_ = is_there_ && !row[kExpires].is_null();
        return done_ ? Change(std::nullopt, RespStored::Expires::kNever) : model::Decision::kKeep;
      case RespVerb::kGetEx:
        done_ = is_there_;
        if (is_there_) wrong_ = stored().wrong_if_there;
        if (!is_there_ || !wrong_.empty() || stored().expires == RespStored::Expires::kKeep) {
          return model::Decision::kKeep;
        }
        return Change(std::nullopt, stored().expires);
      case RespVerb::kEval:
        if (!stored().only_if_absent) return ChangeLock(row);
        break;
      case RespVerb::kIncrBy:
        return Increment();
      case RespVerb::kIncrByFloat:
        return IncrementFloat();
      case RespVerb::kSetRange:
        return SetRange();
      case RespVerb::kAppend:
        new_ = old_ + std::string(call_.arguments[2]);
        number_ = static_cast<int64_t>(new_.size());
        return Change(new_, is_there_ ? RespStored::Expires::kKeep : RespStored::Expires::kNever);
      default:
        break;
    }
    const bool may =
        !(stored().only_if_absent && is_there_) && !(stored().only_if_there && !is_there_);
    done_ = may;
    if (!may) return model::Decision::kKeep;
    const bool keeps = stored().expires == RespStored::Expires::kKeep && is_there_;
    return Change(stored().value, keeps ? RespStored::Expires::kKeep
                                  : stored().expires == RespStored::Expires::kKeep
                                      ? RespStored::Expires::kNever
                                      : stored().expires);
  }

  model::Decision Change(std::optional<std::string_view> value, RespStored::Expires expires) {
    if (value) changes_[count_++] = {kValue, model::Value(*value)};
    if (expires == RespStored::Expires::kNever) changes_[count_++] = {kExpires, model::Value()};
    if (expires == RespStored::Expires::kAt) {
      const auto end = std::to_chars(text_, text_ + sizeof text_, at_ms_).ptr;
      changes_[count_++] = {
          kExpires, model::Value(std::string_view(text_, static_cast<size_t>(end - text_)))};
    }
    return model::Decision::kStore;
  }

  // Nothing to set leaves the key as it is.
  model::Decision SetRange() {
    const std::string_view text = call_.arguments[3];
    const auto from = static_cast<size_t>(stored().from);
    number_ = static_cast<int64_t>(old_.size());
    if (text.empty()) return model::Decision::kKeep;
    new_ = old_;
    if (new_.size() < from + text.size()) new_.resize(from + text.size());
    new_.replace(from, text.size(), text);
    number_ = static_cast<int64_t>(new_.size());
    return Change(new_, is_there_ ? RespStored::Expires::kKeep : RespStored::Expires::kNever);
  }

  /// What the scripts of locks do where the string is the token.
  model::Decision ChangeLock(std::span<const model::Value> row) {
    done_ = is_there_ && old_ == stored().token;
    if (!done_) return model::Decision::kKeep;
    if (stored().script == RespScript::kRelease) return model::Decision::kDelete;
    int64_t left_at_ms = 0;
    if (stored().script == RespScript::kExtend) {
      done_ = !row[kExpires].is_null() && ParsePlainInteger(row[kExpires].text(), &left_at_ms);
      if (!done_) return model::Decision::kKeep;
    }
    const bool overflows =
        stored().adds_time && __builtin_add_overflow(at_ms_, left_at_ms - NowMs(), &at_ms_);
    if (overflows) {
      wrong_ = "ERR invalid expire time in script";
      return model::Decision::kKeep;
    }
    return at_ms_ <= NowMs() ? model::Decision::kDelete
                             : Change(std::nullopt, RespStored::Expires::kAt);
  }

  model::Decision Increment() {
    int64_t now = 0;
    if (is_there_ && !ParsePlainInteger(old_, &now)) {
      wrong_ = kNoInteger;
      return model::Decision::kKeep;
    }
    if (__builtin_add_overflow(now, stored().by, &number_)) {
      wrong_ = "ERR increment or decrement would overflow";
      return model::Decision::kKeep;
    }
    new_ = std::to_string(number_);
    return Change(new_, is_there_ ? RespStored::Expires::kKeep : RespStored::Expires::kNever);
  }

  model::Decision IncrementFloat() {
    long double now = 0;
    if (is_there_ && !ParseFloat(old_, &now)) {
      wrong_ = kNoFloat;
      return model::Decision::kKeep;
    }
    now += stored().by_float;
    if (!std::isfinite(now)) {
      wrong_ = "ERR increment would produce NaN or Infinity";
      return model::Decision::kKeep;
    }
    new_ = FormatFloat(now);
    return Change(new_, is_there_ ? RespStored::Expires::kKeep : RespStored::Expires::kNever);
  }

  model::Decision Expire(std::span<const model::Value> row) {
    if (!is_there_) return model::Decision::kKeep;
    const bool expires = !row[kExpires].is_null();
    int64_t now_ms = INT64_MAX;  // Never is later than any time.
    if (expires) ParsePlainInteger(row[kExpires].text(), &now_ms);
    done_ = !(stored().only_if_never && expires) && !(stored().only_if_expires && !expires) &&
            !(stored().only_if_later && stored().at_ms <= now_ms) &&
            !(stored().only_if_sooner && stored().at_ms >= now_ms);
    if (!done_) return model::Decision::kKeep;
    return stored().at_ms <= NowMs() ? model::Decision::kDelete
                                     : Change(std::nullopt, RespStored::Expires::kAt);
  }

  const RespCall& call_;
  model::CellChange changes_[2];
  size_t count_ = 0;
  char text_[24];
  bool is_there_ = false;
  bool done_ = false;
  int64_t number_ = 0;
  int64_t at_ms_ = 0;
  std::string old_, new_;
  std::string_view wrong_;
};

}  // namespace rowsocket::frontend
