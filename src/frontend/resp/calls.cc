// How a command becomes calls, whose indexes the connection has open, and these an item.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "frontend/resp/frontend.h"
#include "frontend/resp/move.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/rows.h"
#include "frontend/resp/scan.h"
#include "frontend/resp/store.h"
#include "frontend/resp/watch.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Item;
using exec::Unit;
using model::ErrorCode;
using Verb = RespVerb;

namespace {

/// How long a list of all columns is believed.
constexpr int64_t kColumnsKnownMs = 1000;

void AppendSized(std::string_view text, std::string* shape) {
  const auto size = static_cast<uint32_t>(text.size());
  shape->append(reinterpret_cast<const char*>(&size), sizeof(size)).append(text);
}

/// What NameColumns makes its names of, written down: equal for commands that it gives equal names.
/// It is asked for each command, and takes no memory once `*shape` has some.
void WriteShape(const RespCall& call, std::string* shape) {
  shape->clear();
  const bool is_of_store = call.in_store && call.scan == nullptr;
  shape->push_back(is_of_store ? '\xff' : static_cast<char>(call.verb));
  if (is_of_store) return;
  shape->push_back(call.skips_unknown ? '?' : '.');
  shape->push_back(call.in_store ? 's' : '.');
  for (const std::string_view text : {call.key.db, call.key.table, call.key.index}) {
    AppendSized(text, shape);
  }
  shape->push_back(call.prefix != nullptr ? 'p' : '.');
  if (call.prefix != nullptr) {
    for (const std::string& field : call.prefix->fields) AppendSized(field, shape);
    shape->push_back(';');
  }
  if (call.expiry != nullptr) AppendSized(call.expiry->definition.expire_time_column, shape);
  const Verb verb = call.verb;
  if (!IsOfFields(verb) && verb != Verb::kRequire) return;
  const bool has_pairs = verb == Verb::kHSet || verb == Verb::kHMSet;
  const bool has_many = has_pairs || verb == Verb::kHMGet || verb == Verb::kHDel;
  const size_t end = has_many ? call.arguments.size() : 3;
  for (size_t i = 2; i < end; i += has_pairs ? 2 : 1) AppendSized(call.arguments[i], shape);
}

/// Whether the command is on one key, its first argument, and makes one call of it whatever its
/// arguments are.
bool HasOneKey(const RespCommand& command) {
  return IsOfRow(command.verb) && !IsOfManyKeys(command.verb) && !IsOfMove(command.verb) &&
         command.verb != Verb::kEval && command.first_key == 1 && command.last_key == 1;
}

/// Whether clients send the command with the same arguments but its key again and again.
bool IsRepeated(const RespCommand& command) {
  return HasOneKey(command) &&
         (!command.writes || command.verb == Verb::kHIncrBy || command.verb == Verb::kIncrBy);
}

/// Whether the shape of the call is that of its command alone, and of its key's table.
bool IsPlain(const RespCall& call) {
  return !call.in_store && call.prefix == nullptr && call.expiry == nullptr && !call.skips_unknown;
}

/// Whether a field that the table has no column for is just absent: a name that reads, or that is
/// to go.
bool MayLackFields(const RespCall& call) {
  const Verb verb = call.verb;
  return !call.in_store && !call.skips_unknown &&
         (verb == Verb::kHGet || verb == Verb::kHMGet || verb == Verb::kHExists ||
          verb == Verb::kHStrLen || verb == Verb::kHDel);
}

// MEMORY USAGE and OBJECT ENCODING; other subcommands ask for what a table does not have.
std::string WhyNotOfKey(const RespCommand& command, std::span<const std::string_view> arguments) {
  const bool is_usage = command.verb == Verb::kMemoryUsage;
  const std::string_view served = is_usage ? "usage" : "encoding";
  if (IsWord(arguments[1], "freq")) {
    return "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note "
           "that when switching between policies at runtime LRU and LFU data will take some time "
           "to adjust.";
  }
  if (!IsWord(arguments[1], served)) {
    return "NOTSERVED only " + std::string(is_usage ? "MEMORY USAGE" : "OBJECT ENCODING") +
           " is served: use information_schema in SQL";
  }
  int64_t samples = 0;
  const bool has_samples = is_usage && arguments.size() == 5 && IsWord(arguments[3], "samples");
  if (arguments.size() == 3 || (has_samples && ParsePlainInteger(arguments[4], &samples)))
    return {};
  if (has_samples) return "ERR value is not an integer or out of range";
  if (is_usage && arguments.size() > 3) return "ERR syntax error";
  return "ERR wrong number of arguments for '" + std::string(command.name) + "|" +
         std::string(served) + "' command";
}

}  // namespace

bool Resp::MakeCalls(const RespCommand& command, Arguments arguments, base::Arena& arena,
                     std::vector<RespCall>* calls, std::string* error) const {
  if (IsOfManyKeys(command.verb)) {
    RespCall& call = calls->emplace_back();
    call.verb = command.verb;
    call.arguments = arguments;
    call.keyspaces = settings_.keyspaces;
    *error = TakeScan(settings_.schema, state_.database, *settings_.cursors, snapshot_.get(), arena,
                      &call);
    return error->empty();
  }
  if (command.verb == Verb::kEval) return MakeScriptCall(command, arguments, arena, calls, error);
  if (IsOfMove(command.verb)) return MakeMoveCalls(command, arguments, arena, calls, error);
  const size_t step = command.verb == Verb::kMSet || command.verb == Verb::kMSetNx ? 2 : 1;
  if (arguments.size() % step == 0 && step == 2) {
    *error = "ERR wrong number of arguments for '" + std::string(command.name) + "' command";
    return false;
  }
  const size_t keys = command.last_key < 0 ? (arguments.size() - 1) / step : 1;
  if (calls->size() + keys > model::kUnitKeysMax) {
    *error = "ERR at most 1024 keys are served together";
    return false;
  }
  for (size_t i = 0; i < keys; ++i) {
    RespCall call;
    call.at = 1 + i * step;
    call.is_first = i == 0;
    call.is_last = i + 1 == keys;
    if (!MakeCall(command, arguments, arena, &call, error)) return false;
    calls->push_back(call);
  }
  return true;
}

bool Resp::MakeCall(const RespCommand& command, Arguments arguments, base::Arena& arena,
                    RespCall* call, std::string* error) const {
  const bool sets = command.verb == Verb::kHSet || command.verb == Verb::kHMSet;
  if (sets && arguments.size() % 2 != 0) {
    *error = "ERR wrong number of arguments for '" + std::string(command.name) + "' command";
    return false;
  }
  if (command.first_key == 2) {
    *error = WhyNotOfKey(command, arguments);
    if (!error->empty()) return false;
    call->at = 2;
  }
  call->verb = command.verb;
  call->arguments = arguments;
  call->database = state_.database;
  if (command.verb == Verb::kWatch) call->image = &arena.Allocate<RespImage>(1)[0];
  if (!PlaceKey(command.writes, arena, call, error)) return false;
  if (command.verb == Verb::kRequire && arguments.size() > 5) {
    call->refusal =
        arguments.size() == 7 && IsWord(arguments[5], "error") ? arguments[6] : std::string_view();
    if (call->refusal.empty()) {
      *error = "ERR syntax error: ROW.REQUIRE key field op value [ERROR text]";
      return false;
    }
  }
  return true;
}

// The call of one key is made where it stays, without the copies of several.
std::optional<std::span<RespCall>> Resp::TakeCalls(const RespCommand& command, Arguments arguments,
                                                   base::Arena& arena, std::string* error) {
  if (HasOneKey(command)) {
    const std::span<RespCall> call = arena.Allocate<RespCall>(1);
    if (!MakeCall(command, arguments, arena, &call[0], error)) return std::nullopt;
    return call;
  }
  calls_.clear();
  if (!MakeCalls(command, arguments, arena, &calls_, error)) return std::nullopt;
  return KeepCalls(calls_, arena);
}

std::span<RespCall> Resp::KeepCalls(std::span<const RespCall> calls, base::Arena& arena) {
  const std::span<RespCall> kept = arena.Allocate<RespCall>(calls.size());
  std::copy(calls.begin(), calls.end(), kept.begin());
  return kept;
}

// A client that gets NOSCRIPT sends the text itself, which is then recognised or refused.
bool Resp::MakeScriptCall(const RespCommand& command, Arguments arguments, base::Arena& arena,
                          std::vector<RespCall>* calls, std::string* error) const {
  std::string sha1;
  const bool has_text = command.name == "eval";
  const RespScript script = has_text ? settings_.scripts->Load(arguments[1], &sha1)
                                     : settings_.scripts->Find(arguments[1]);
  if (script == RespScript::kNone) {
    *error =
        has_text ? std::string(kRespNoScripts) : "NOSCRIPT No matching script. Please use EVAL.";
    return false;
  }
  if (calls->size() == model::kUnitKeysMax) {
    *error = "ERR at most 1024 keys are served together";
    return false;
  }
  const bool is_short = script == RespScript::kRelease;
  if (arguments[2] != "1" || arguments.size() < (is_short                        ? 5
                                                 : script == RespScript::kExtend ? 7
                                                                                 : 6)) {
    *error = "ERR the script has one key, and more arguments";
    return false;
  }
  RespCall& call = calls->emplace_back();
  call.verb = command.verb;
  call.script = script;
  call.arguments = arguments;
  call.at = 3;
  call.database = state_.database;
  return PlaceKey(/*writes=*/true, arena, &call, error);
}

bool Resp::MakeMoveCalls(const RespCommand& command, Arguments arguments, base::Arena& arena,
                         std::vector<RespCall>* calls, std::string* error) const {
  RespMove& move = arena.Allocate<RespMove>(1)[0];
  move.removes = command.name != "copy";
  move.answers_number = command.name != "rename";
  move.only_if_absent = move.answers_number;
  std::string_view database = state_.database;
  for (size_t i = 3; i < arguments.size(); ++i) {
    int64_t number = 0;
    if (IsWord(arguments[i], "replace")) {
      move.only_if_absent = false;
    } else if (!IsWord(arguments[i], "db") || i + 1 == arguments.size()) {
      *error = "ERR syntax error";
      return false;
    } else if (!ParsePlainInteger(arguments[++i], &number)) {
      *error = "ERR value is not an integer or out of range";
      return false;
    } else if (number < 0 || number >= static_cast<int64_t>(std::size(kDatabases))) {
      *error = "ERR DB index is out of range";
      return false;
    } else {
      database = kDatabases[number];
    }
  }
  RespCall steps[3];
  constexpr Verb kVerbs[] = {Verb::kMoveTake, Verb::kMovePut, Verb::kMoveRemove};
  size_t count = move.removes ? 3 : 2;
  for (size_t i = 0; i < count; ++i) {
    RespCall& call = steps[i];
    call.verb = kVerbs[i];
    call.arguments = arguments;
    call.at = i == 1 ? 2 : 1;
    call.database = i == 1 ? database : state_.database;
    call.move = &move;
    if (!PlaceKey(/*writes=*/i != 0, arena, &call, error)) return false;
  }
  const bool is_same = IsSameRow(steps[0], steps[1], error);
  if (is_same && !move.removes) *error = "ERR source and destination objects are the same";
  if (is_same) count = 1;  // RENAME only asks whether it is there.
  if (calls->size() + count > model::kUnitKeysMax)
    *error = "ERR at most 1024 keys are served together";
  if (!error->empty()) return false;
  for (size_t i = 0; i < count; ++i) {
    steps[i].is_first = i == 0;
    steps[i].is_last = i + 1 == count;
    calls->push_back(steps[i]);
  }
  return true;
}

void Resp::PutInStore(RespCall& call, base::Arena& arena) {
  call.in_store = true;
  call.key =
      IsOfManyKeys(call.verb) ? RespKey() : StoreKey(call.database, call.arguments[call.at], arena);
}

const Shape* Resp::FindShape(const RespCall& call) {
  const Shape* const repeated = repeats_ && IsPlain(call) ? shapes_.Repeated(call.key) : nullptr;
  if (repeated != nullptr) return repeated;
  WriteShape(call, &shape_);
  return shapes_.Find(shape_);
}

// Only the second of two requests that are alike: others would cost a copy each.
void Resp::NotePattern(const RespCommand& command, Arguments arguments, std::string_view bytes,
                       std::span<const RespCall> calls) {
  const RespCommand* const before = std::exchange(noted_command_, &command);
  if (!IsRepeated(command) || before != &command) return;
  pattern_.Note(bytes, arguments);
  const RespCall& call = calls[0];
  if (!IsPlain(call) || call.index == nullptr) return shapes_.ForgetRepeated();
  WriteShape(call, &shape_);
  shapes_.Repeat(shape_, call.key);
}

bool Resp::OpenCalls(std::span<RespCall> calls, base::Arena& arena, Item* item,
                     std::string* error) {
  for (size_t i = 0; i < calls.size(); ++i) {
    RespCall& call = calls[i];
    if (!call.fixed.empty()) continue;
    if (call.container != nullptr || (call.scan != nullptr && call.expiry != nullptr)) {
      const std::string_view why = PrepareCall(call, account(), arena);
      if (why.empty()) continue;
      *error = why;
      return true;
    }
    const Shape* const known = FindShape(call);
    const bool is_old = known != nullptr && may_drop_ &&
                        (known->lists_columns || known->index == nullptr) &&
                        base::CoarseNowMs() - known->opened_ms > kColumnsKnownMs;
    if (known != nullptr && !is_old) {
      call.index = known->index.get();
      const bool may_be_elsewhere = call.may_be_stored && !call.in_store;
      if (call.index == nullptr && !may_be_elsewhere) {
        // Another command with the same columns has found that there is no such table or column.
        call.skips_unknown = MayLackFields(call) && known->error.code == ErrorCode::kFld;
        if (call.skips_unknown) {
          --i;
          continue;
        }
        *error = TextOf(known->error, RespWork(), &call);
        return true;
      }
      if (may_be_elsewhere) {
        if (call.index == nullptr) {
          PutInStore(call, arena);
          --i;
          continue;
        }
        if (IsOfMove(call.verb)) {
          *error = kRespMovesStrings;
          return true;
        }
        if (IsOfString(call.verb)) {
          *error = "WRONGTYPE Operation against a key holding the wrong kind of value";
          return true;
        }
      }
      const std::string_view why = PrepareCall(call, account(), arena);
      if (why.empty()) continue;
      *error = why;
      return true;
    }
    WriteShape(call, &shape_);
    if (wanted_ == shape_ && !wanted_error_.ok()) {
      *error = call.in_store && wanted_error_.code == ErrorCode::kOpenTable
                   ? "NOSTORE there is no table rowsocket.store: run rowsocket_store.sql"
                   : TextOf(wanted_error_, RespWork(), &call);
      wanted_error_ = {};
      wanted_.clear();
      return true;
    }
    engine::IndexNames names;
    NameColumns(call, &names);
    if (call.skips_unknown) names.lists = engine::IndexNames::Lists::kKnown;
    wanted_ = shape_;
    wanted_lists_ = names.lists != engine::IndexNames::Lists::kColumns &&
                    names.lists != engine::IndexNames::Lists::kNotOfKey;
    wanted_error_ = {};
    wanted_may_be_stored_ = call.may_be_stored && !call.in_store;
    wanted_may_lack_ = MayLackFields(call);
    wanted_names_ = std::make_unique<engine::IndexNames>(std::move(names));
    opens_tokens_ = false;
    item->kind = Item::Kind::kSilentOpen;
    item->names = wanted_names_.get();
    item->request.account = account();
    return false;
  }
  return true;
}

// A shape is opened anew only where no item of the turn uses its index (may_drop_).
void Resp::Opened(Item&, const Outcome& outcome, std::shared_ptr<engine::Index> index) {
  if (std::exchange(opens_tokens_, false)) return tokens_->Opened(std::move(index));
  wanted_error_ = outcome.error;
  const bool is_no_table =
      outcome.error.code == ErrorCode::kOpenTable || outcome.error.code == ErrorCode::kDenied;
  if (is_no_table && wanted_may_be_stored_) {
    wanted_error_ = {};
    shapes_.Put(wanted_, {nullptr, base::CoarseNowMs(), outcome.error});
    return;
  }
  if (outcome.error.code == ErrorCode::kFld && wanted_may_lack_) {
    wanted_error_ = {};
    shapes_.Put(wanted_, {nullptr, base::CoarseNowMs(), outcome.error});
    return;
  }
  if (!outcome.ok()) {
    shapes_.Erase(wanted_);
    return;
  }
  shapes_.Put(wanted_, {std::move(index), base::CoarseNowMs(), {}, wanted_lists_});
}

void Resp::MakeItem(std::span<RespCall> calls, bool is_exec, size_t commands, base::Arena& arena,
                    Item* item) {
  RespWork& work = WorkOf(*item);
  work.is_exec = is_exec;
  work.commands = commands;
  work.calls = calls;
  const auto asks = static_cast<size_t>(std::count_if(
      calls.begin(), calls.end(), [](const RespCall& call) { return call.fixed.empty(); }));
  if (asks == 0) {
    base::Buffer reply;
    resp::AppendArray(calls.size(), &reply);
    for (const RespCall& call : calls) reply.Append(call.fixed);
    return Answer(reply.view(), arena, item);
  }
  item->kind = Item::Kind::kRequest;
  if (!is_exec && calls.size() == 1) {
    item->index = calls[0].index;
    item->request = calls[0].request;
    item->stands_alone = calls[0].verb == Verb::kFlush;
    return;
  }
  MarkAbsent(work.calls);
  Unit& unit = arena.Allocate<Unit>(1)[0];
  unit.requests = arena.Allocate<exec::UnitRequest>(asks);
  uint32_t at = 0;
  for (RespCall& call : work.calls) {
    call.unit_request = at;
    if (!call.fixed.empty()) continue;
    unit.requests[at] = {call.index, call.request,
                         call.verb == Verb::kRequire || call.verb == Verb::kWatched ||
                             call.absent != nullptr ||
                             (call.verb == Verb::kMSetNx && call.stored->only_if_absent)};
    const bool is_named = at == 0 || (!unit.writes && call.request.is_write());
    if (is_named) {
      unit.writes = call.request.is_write();
      unit.named = at;
      item->index = call.index;
      item->request = call.request;
    }
    ++at;
  }
  item->unit = &unit;
  item->stands_alone = true;
  item->weight = static_cast<uint32_t>(asks);
}

}  // namespace rowsocket::frontend
