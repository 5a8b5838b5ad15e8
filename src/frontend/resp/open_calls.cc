// Which indexes the calls of a command need, and which of them the connection has open.
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "frontend/resp/frontend.h"
#include "frontend/resp/move.h"
#include "frontend/resp/rows.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Item;
using model::ErrorCode;
using Verb = RespVerb;

namespace {

/// How long a connection believes what it has found of a table.
constexpr int64_t kShapeKnownMs = 1000;

void AppendSized(std::string_view text, std::string* shape) {
  const auto size = static_cast<uint32_t>(text.size());
  shape->append(reinterpret_cast<const char*>(&size), sizeof(size)).append(text);
}

/// Writes everything that NameColumns looks at into `*shape`, so that commands for which
/// NameColumns gives the same names have the same shape, and no others. It is called for each
/// command, and takes no memory once `*shape` has some.
void WriteShape(const RespCall& call, std::string* shape) {
  shape->clear();
  const bool is_of_store = call.is_string && call.scan == nullptr;
  shape->push_back(is_of_store ? '\xff' : static_cast<char>(call.verb));
  if (is_of_store) return;
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
  shape->push_back(call.expiring_container != nullptr ? 'e' : '.');
  if (call.expiring_container != nullptr)
    AppendSized(call.expiring_container->definition.expire_time_column, shape);
  const Verb verb = call.verb;
  if (!IsOfFields(verb) && verb != Verb::kRequire) return;
  const bool has_pairs = verb == Verb::kHSet || verb == Verb::kHMSet;
  const bool has_many = has_pairs || verb == Verb::kHMGet || verb == Verb::kHDel;
  const size_t end = has_many ? call.arguments.size() : 3;
  for (size_t i = 2; i < end; i += has_pairs ? 2 : 1) AppendSized(call.arguments[i], shape);
}

/// Whether clients send the command with the same arguments but its key again and again.
bool IsRepeated(const RespCommand& command) {
  return HasOneKey(command) &&
         (!command.writes || command.verb == Verb::kHIncrBy || command.verb == Verb::kIncrBy);
}

/// Whether the shape of the call is that of its command alone, and of its key's table.
bool IsPlain(const RespCall& call) {
  return !call.is_string && call.keyspace == nullptr && call.expiring_container == nullptr &&
         !call.skips_unknown;
}

/// Whether a field that the table has no column for is just absent: a name that reads, or that is
/// to go.
bool MayLackFields(const RespCall& call) {
  const Verb verb = call.verb;
  return !call.is_string && !call.skips_unknown &&
         (verb == Verb::kHGet || verb == Verb::kHMGet || verb == Verb::kHExists ||
          verb == Verb::kHStrLen || verb == Verb::kHDel);
}

}  // namespace

const Shape* RespFrontend::FindShape(const RespCall& call) {
  const Shape* const repeated = repeats_ && IsPlain(call) ? shapes_.Repeated(call.key) : nullptr;
  if (repeated != nullptr) return repeated;
  WriteShape(call, &shape_);
  return shapes_.Find(shape_);
}

// A request becomes the pattern when the one before had the same command: to copy each request
// would cost more than patterns save.
void RespFrontend::NotePattern(const RespCommand& command, Arguments arguments,
                               std::string_view bytes, std::span<const RespCall> calls) {
  const RespCommand* const before = std::exchange(noted_command_, &command);
  if (!IsRepeated(command) || before != &command) return;
  pattern_.Note(bytes, arguments);
  const RespCall& call = calls[0];
  if (!IsPlain(call) || call.index == nullptr) return shapes_.ForgetRepeated();
  WriteShape(call, &shape_);
  shapes_.Repeat(shape_, call.key);
}

// Where the names of a key may be those of a table and are not, the key is the store's.
RespFrontend::Found RespFrontend::FindIndex(RespCall& call, base::Arena& arena,
                                            std::string* error) {
  const bool has_index =
      call.container != nullptr || (call.scan != nullptr && call.expiring_container != nullptr);
  if (!has_index) {
    const Shape* const known = FindShape(call);
    const bool is_old =
        known != nullptr && !trusts_old_shapes_ && command_ms_ - known->opened_ms > kShapeKnownMs;
    if (known == nullptr || is_old) return Found::kNo;
    call.index = known->index.get();
    if (call.may_be_string && !call.is_string) {
      if (call.index == nullptr) {
        PutInStore(call, arena);
        return Found::kAgain;
      }
      if (call.verb == Verb::kMGet) {
        HideRow(call, arena);
        return Found::kAgain;
      }
      if (IsOfString(call.verb)) {
        *error = IsOfMove(call.verb) ? kRespMovesStrings : kRespWrongType;
        return Found::kWrong;
      }
    } else if (call.index == nullptr) {
      // Another command with the same columns has found that there is no such table or column.
      call.skips_unknown = MayLackFields(call) && known->error.code == ErrorCode::kFld;
      if (call.skips_unknown) return Found::kAgain;
      *error = TextOf(known->error, RespWork(), &call);
      return Found::kWrong;
    }
  }
  const std::string_view why = PrepareCall(call, account(), arena);
  if (why.empty()) return Found::kYes;
  *error = why;
  return Found::kWrong;
}

exec::Frontend::Step RespFrontend::ParseForLane(std::string_view input, base::Arena& arena,
                                                Item* item) {
  trusts_old_shapes_ = true;
  const Step step = Parse(input, /*behind_requests=*/false, arena, item);
  trusts_old_shapes_ = false;
  return step;
}

// The names of one index at a time: the item is parsed again when they have been looked up.
bool RespFrontend::AskForIndex(const RespCall& call, Item* item, std::string* error) {
  WriteShape(call, &shape_);
  if (wanted_ == shape_ && !wanted_error_.ok()) {
    *error = TextOf(wanted_error_, RespWork(), &call);
    wanted_error_ = {};
    wanted_.clear();
    return false;
  }
  engine::IndexNames names;
  NameColumns(call, &names);
  if (call.skips_unknown) names.lists = engine::IndexNames::Lists::kKnown;
  wanted_ = shape_;
  wanted_error_ = {};
  wanted_may_be_string_ = call.may_be_string && !call.is_string;
  wanted_may_lack_fields_ = MayLackFields(call);
  wanted_names_ = std::make_unique<engine::IndexNames>(std::move(names));
  opens_tokens_ = false;
  item->kind = Item::Kind::kSilentOpen;
  item->names = wanted_names_.get();
  item->request.account = account();
  return true;
}

bool RespFrontend::OpenCalls(std::span<RespCall> calls, base::Arena& arena, Item* item,
                             std::string* error, const RespCall** wrong) {
  for (RespCall& call : calls) {
    if (!call.known_reply.empty()) continue;
    Found found = Found::kAgain;
    while (found == Found::kAgain) found = FindIndex(call, arena, error);
    if (found == Found::kYes) continue;
    if (wrong != nullptr) *wrong = &call;
    // Each index that is opened has all calls made anew.
    if (found == Found::kNo && ++indexes_asked_ * calls.size() > model::kRespCallsMadeMax) {
      *error = "TOOLARGE the keys are of too many tables for one command: send fewer at a time";
      return true;
    }
    return found == Found::kWrong || !AskForIndex(call, item, error);
  }
  return true;
}

void RespFrontend::Opened(Item&, const Outcome& outcome, std::shared_ptr<engine::Index> index) {
  if (std::exchange(opens_tokens_, false)) return tokens_->Opened(std::move(index));
  wanted_error_ = outcome.error;
  const bool is_no_table =
      outcome.error.code == ErrorCode::kOpenTable || outcome.error.code == ErrorCode::kDenied;
  if (is_no_table && wanted_may_be_string_) {
    wanted_error_ = {};
    shapes_.Put(wanted_, {nullptr, base::CoarseNowMs(), outcome.error});
    return;
  }
  if (outcome.error.code == ErrorCode::kFld && wanted_may_lack_fields_) {
    wanted_error_ = {};
    shapes_.Put(wanted_, {nullptr, base::CoarseNowMs(), outcome.error});
    return;
  }
  if (!outcome.ok()) {
    shapes_.Erase(wanted_);
    return;
  }
  shapes_.Put(wanted_, {std::move(index), base::CoarseNowMs(), {}});
}

}  // namespace rowsocket::frontend
