// The reply to a command that reads a row, made as the engine shows the row's cells.
//
// Threads: one.
// Lifetime: the call and the buffer outlive a RespRowReply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "frontend/resp/command.h"
#include "frontend/resp/fields.h"
#include "frontend/resp/random_fields.h"
#include "frontend/resp/work.h"
#include "keyspace/time.h"
#include "model/row_sink.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

/// Whether the reply has one text or nil for each field that the command names.
constexpr bool IsOfGivenFields(RespVerb verb) {
  return verb == RespVerb::kHGet || verb == RespVerb::kHMGet;
}

/// Writes the reply of a find as its cells come; the names of fields come from the index.
class RespRowReply final : public model::RowSink {
 public:
  RespRowReply(const RespCall& call, resp::Version version, size_t bytes_max, base::Buffer& out)
      : call_(call),
        version_(version),
        out_(out),
        expiry_at_(ExpiryColumnAt(call)),
        bytes_max_(bytes_max),
        end_max_(out.size() + bytes_max),
        shows_names_(call.verb == RespVerb::kHGetAll || call.verb == RespVerb::kHKeys ||
                     call.verb == RespVerb::kHScan),
        shows_values_(call.verb == RespVerb::kHGetAll || call.verb == RespVerb::kHVals ||
                      IsOfGivenFields(call.verb) ||
                      (call.verb == RespVerb::kHScan && !call.field_list->without_values)) {}

  bool Cell(std::string_view text) override {
    bytes_read_ += text.size();
    if (at_ == expiry_at_) return TakeExpiry(model::Value(text));
    const std::string& name = call_.index->names().columns[at_++];
    if (call_.skips_unknown) AppendUnknown(&name);
    if (call_.verb == RespVerb::kHScan && !MatchesPattern(call_.field_list->pattern, name))
      return true;
    ++fields_;
    size_ = text.size();
    bytes_ += name.size() + text.size();
    if (call_.verb == RespVerb::kHRandField) {
      const bool without_values = call_.field_list->without_values;
      pairs_.emplace_back(name, without_values ? std::string_view() : text);
      return without_values || bytes_ <= bytes_max_;
    }
    if (shows_names_) resp::AppendBulk(name, &out_);
    if (shows_values_) resp::AppendBulk(text, &out_);
    return out_.size() <= end_max_;
  }
  bool NullCell() override {
    if (at_ == expiry_at_) return TakeExpiry(model::Value());
    const std::string& name = call_.index->names().columns[at_++];
    if (call_.skips_unknown) AppendUnknown(&name);
    if (IsOfGivenFields(call_.verb)) resp::AppendNil(version_, &out_);
    return true;
  }

  /// Appends nil for the named fields after the last column. Call it after the last cell.
  void AppendRest() {
    if (call_.skips_unknown) AppendUnknown(nullptr);
  }

  size_t fields() const { return fields_; }
  size_t size() const { return size_; }
  /// The bytes of the names and values of all fields that exist.
  size_t bytes() const { return bytes_; }
  size_t bytes_read() const { return bytes_read_; }
  /// HRANDFIELD: the fields, with their values if it answers values.
  std::span<const RespField> pairs() const { return pairs_; }
  bool is_expired() const { return is_expired_; }
  int64_t expires_ms() const { return expires_ms_; }

 private:
  bool TakeExpiry(const model::Value& cell) {
    ++at_;
    expires_ms_ = keyspace::ExpiryFromCell(cell);
    is_expired_ = IsExpired(call_, cell);
    return true;
  }

  /// Appends nil for fields that are no columns. `next`: the column of the next cell, or null.
  void AppendUnknown(const std::string* next) {
    if (!IsOfGivenFields(call_.verb)) return;
    const auto& arguments = call_.arguments;
    for (; argument_ < arguments.size(); ++argument_) {
      if (next != nullptr && arguments[argument_] == *next) break;
      resp::AppendNil(version_, &out_);
    }
    ++argument_;
  }

  const RespCall& call_;
  const resp::Version version_;
  base::Buffer& out_;
  size_t argument_ = 2;
  const size_t expiry_at_;
  int64_t expires_ms_ = keyspace::kNever;
  bool is_expired_ = false;
  const size_t bytes_max_;
  const size_t end_max_;
  const bool shows_names_;
  const bool shows_values_;
  std::vector<RespField> pairs_;
  size_t at_ = 0;
  size_t fields_ = 0;
  size_t size_ = 0;
  size_t bytes_ = 0;
  size_t bytes_read_ = 0;
};

}  // namespace rowsocket::frontend
