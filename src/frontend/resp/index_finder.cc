#include "frontend/resp/index_finder.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "frontend/resp/fields.h"
#include "frontend/resp/rows.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::ErrorCode;
using Verb = RespVerb;

namespace {

/// How long a connection believes what it has found about a table.
constexpr int64_t kShapeKnownMs = 1000;

void AppendSized(std::string_view text, std::string* shape) {
  const auto size = static_cast<uint32_t>(text.size());
  shape->append(reinterpret_cast<const char*>(&size), sizeof(size)).append(text);
}

/// Writes everything that NameColumns looks at into `*shape`, so that two commands have the same
/// shape exactly if NameColumns gives them the same names. It is called for each command, and
/// reuses the memory of `*shape`.
void WriteShape(const RespCall& call, std::string* shape) {
  shape->clear();
  const bool is_of_store = call.is_string && call.scan == nullptr;
  if (is_of_store)
    return shape->push_back(TraitsOf(call.verb).needs_expiry_alone() ? '\xfe' : '\xff');
  shape->push_back(static_cast<char>(call.verb));
  shape->push_back(call.skips_unknown ? '?' : '.');
  shape->push_back(call.is_string ? 's' : '.');
  for (const std::string_view text : {call.key.db, call.key.table, call.key.index}) {
    AppendSized(text, shape);
  }
  shape->push_back(call.keyspace != nullptr ? 'p' : '.');
  if (call.keyspace != nullptr) {
    AppendSized(std::to_string(call.keyspace->fields.size()), shape);
    for (const std::string& field : call.keyspace->fields) AppendSized(field, shape);
  }
  shape->push_back(call.expiring_rows != nullptr ? 'e' : '.');
  if (call.expiring_rows != nullptr)
    AppendSized(call.expiring_rows->definition.expire_time_column, shape);
  const Verb verb = call.verb;
  if (!NamesFields(verb)) return;
  const size_t end = EndOfFields(verb, call.arguments.size());
  thread_local std::vector<std::string_view> fields;
  fields.clear();
  // No column has a longer name, so the rest does not matter.
  for (size_t i = 2; i < end; i += StepOfFields(verb)) {
    fields.push_back(call.arguments[i].substr(0, model::kNameBytesMax + 1));
  }
  // As in NameColumns, because clients send the fields of a map in any order.
  if (TraitsOf(verb).fields == RespFields::kPairs || verb == Verb::kHDel) LeaveEachOnce(&fields);
  for (const std::string_view field : fields) AppendSized(field, shape);
}

/// Whether the shape of the call depends only on its command and the table of its key.
bool IsPlain(const RespCall& call) {
  return !call.is_string && call.keyspace == nullptr && call.expiring_rows == nullptr &&
         !call.skips_unknown;
}

}  // namespace

void RespIndexFinder::BeginParse(bool after_requests, int64_t now_ms) {
  // The command is parsed again, after an index of it was opened.
  if (is_opening_) return;
  if (!after_requests) shapes_.ReleaseFormer();
  // The lane uses what the turn has found.
  if (!after_requests && !allows_stale_ && has_many()) shapes_.Clear();
  if (shape_.capacity() > model::kRespShapeBytesMax) std::string().swap(shape_);
  command_ms_ = now_ms;
  indexes_asked_ = bytes_parsed_ = columns_opened_ = 0;
}

std::string_view RespIndexFinder::WhyNotAsk(size_t calls) {
  const bool is_parsed_too_often =
      ++indexes_asked_ > model::kRespIndexesOpenedMin && bytes_parsed_ > model::kRespBytesParsedMax;
  if (is_parsed_too_often)
    return "TOOLARGE the command is too long for the tables and lists of fields that it names: "
           "send fewer keys at a time";
  if (indexes_asked_ * calls > model::kRespCallsMadeMax)
    return "TOOLARGE the keys are of too many tables for one command: send fewer at a time";
  static_assert(model::kRespCommandColumnsMax == 65'536, "the text names the limit");
  if (columns_opened_ > model::kRespCommandColumnsMax)
    return "TOOLARGE the commands of a transaction open at most 65536 columns together: send fewer "
           "at a time";
  return {};
}

const RespShape* RespIndexFinder::Find(const RespCall& call, bool repeats) {
  const RespShape* known = repeats && IsPlain(call) ? shapes_.Repeated(call.key) : nullptr;
  if (known == nullptr) {
    WriteShape(call, &shape_);
    known = shapes_.Find(shape_);
  }
  const bool is_old =
      known != nullptr && !allows_stale_ && command_ms_ - known->opened_ms > kShapeKnownMs;
  return is_old ? nullptr : known;
}

void RespIndexFinder::NoteRepeated(const RespCall& call) {
  if (!IsPlain(call) || call.index == nullptr) return shapes_.ForgetRepeated();
  WriteShape(call, &shape_);
  shapes_.Repeat(shape_, call.key);
}

const engine::IndexNames* RespIndexFinder::Ask(const RespCall& call, model::Error* error) {
  WriteShape(call, &shape_);
  if (wanted_ == shape_ && !wanted_error_.ok()) {
    *error = wanted_error_;
    wanted_error_ = {};
    wanted_.clear();
    return nullptr;
  }
  engine::IndexNames names;
  NameColumns(call, &names);
  if (call.skips_unknown) names.lists = engine::IndexNames::Lists::kNamedThatExist;
  wanted_ = shape_;
  wanted_error_ = {};
  wanted_may_be_string_ = call.may_be_string && !call.is_string;
  wanted_may_lack_fields_ = MayLackFields(call);
  wanted_names_ = std::make_unique<engine::IndexNames>(std::move(names));
  return wanted_names_.get();
}

void RespIndexFinder::Opened(const Outcome& outcome, std::shared_ptr<engine::Index> index) {
  wanted_error_ = outcome.error;
  const ErrorCode code = outcome.error.code;
  const bool is_no_table =
      IsNoTable(outcome.error) || code == ErrorCode::kDenied || code == ErrorCode::kSystemTable;
  const bool is_found = (is_no_table && wanted_may_be_string_) ||
                        (code == ErrorCode::kFld && wanted_may_lack_fields_);
  if (is_found) {
    wanted_error_ = {};
    shapes_.Put(wanted_, {nullptr, base::CoarseNowMs(), outcome.error});
    return;
  }
  if (!outcome.ok()) {
    shapes_.Erase(wanted_);
    return;
  }
  columns_opened_ += index->columns();
  shapes_.Put(wanted_, {std::move(index), base::CoarseNowMs(), {}});
}

}  // namespace rowsocket::frontend
