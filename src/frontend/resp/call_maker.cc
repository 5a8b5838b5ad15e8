#include "frontend/resp/call_maker.h"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "frontend/resp/error_text.h"
#include "frontend/resp/move.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/rows.h"
#include "frontend/resp/scan.h"
#include "frontend/resp/watch.h"

namespace rowsocket::frontend {

using Verb = RespVerb;

namespace {

/// Why the subcommand of MEMORY or OBJECT is not served; empty: it is MEMORY USAGE, OBJECT ENCODING
/// or OBJECT FREQ. Other subcommands ask for what a table does not have.
std::string WhyNotOfKey(const RespCommand& command, RespArguments arguments) {
  const bool is_usage = command.verb == Verb::kMemoryUsage;
  const bool is_freq = !is_usage && IsWord(arguments[1], "freq");
  const std::string_view served = is_usage ? "usage" : is_freq ? "freq" : "encoding";
  if (!IsWord(arguments[1], served)) {
    return "NOTSERVED only " +
           std::string(is_usage ? "MEMORY USAGE is" : "OBJECT ENCODING and OBJECT FREQ are") +
           " served: use information_schema in SQL";
  }
  int64_t samples = 0;
  const bool has_samples = is_usage && arguments.size() == 5 && IsWord(arguments[3], "samples");
  if (arguments.size() == 3) return {};
  if (has_samples && ParsePlainInteger(arguments[4], &samples))
    return samples < 0 ? std::string(kSyntax) : std::string();
  if (has_samples) return std::string(kNoInteger);
  if (is_usage && arguments.size() > 3) return std::string(kSyntax);
  return RespWrongCount(command.name, served);
}

/// Whether the command becomes one call for each of its keys, and no other ones.
bool HasCallForEachKey(const RespCommand& command) {
  return !NamesManyKeys(command.verb) && command.verb != Verb::kEval && !IsMoveVerb(command.verb);
}

/// How many arguments each key of a command takes: two where it has a value.
size_t ArgumentsOfKey(const RespCommand& command) {
  return TraitsOf(command.verb).has_pairs() ? 2 : 1;
}

/// Counts the keys of a command, of which each becomes a call. False: the command is refused,
/// because of `*error`.
bool CountCallKeys(const RespCommand& command, RespArguments arguments, size_t* keys,
                   std::string* error) {
  const size_t step = ArgumentsOfKey(command);
  if (arguments.size() % step == 0 && step == 2) {
    *error = RespWrongCount(command.name);
    return false;
  }
  *keys = command.last_key < 0 ? (arguments.size() - 1) / step : 1;
  if (*keys <= model::kRespUnitKeysMax) return true;
  *error = RespTooManyKeys();
  return false;
}

/// Whether the command names more fields than an index is opened with.
bool NamesTooManyFields(Verb verb, size_t arguments) {
  if (arguments <= model::kColumnsMax || !NamesFields(verb)) return false;
  return (EndOfFields(verb, arguments) - 2) / StepOfFields(verb) > model::kColumnsMax;
}

/// MSETNX: a key that stands twice is set twice.
void MarkRepeated(std::span<RespCall> calls, base::Arena& arena) {
  std::unordered_set<std::string_view, exec::TextHash> seen;
  for (RespCall& call : calls) {
    const bool is_new = seen.insert(call.arguments[call.key_at]).second;
    StringCommandOf(call, arena).repeats_key = !is_new;
  }
}

}  // namespace

std::span<RespCall> RespCallMaker::Make(const RespCommand& command, RespArguments arguments,
                                        bool may_name_tables, base::Arena& arena,
                                        std::string* error) const {
  error->clear();
  if (!HasCallForEachKey(command)) {
    std::vector<RespCall> calls;
    if (!Add(command, arguments, may_name_tables, arena, &calls, error)) return {};
    return CopyCalls(calls, arena);
  }
  if (!locator_.KnowsKeyspaces(error)) return {};
  // Most commands have one key: to count it would cost each find 120 instructions.
  if (HasOneKey(command)) {
    const std::span<RespCall> call = arena.Allocate<RespCall>(1);
    return MakeOne(command, arguments, may_name_tables, arena, &call[0], error)
               ? call
               : std::span<RespCall>();
  }
  size_t keys = 0;
  if (!CountCallKeys(command, arguments, &keys, error)) return {};
  const std::span<RespCall> calls = arena.Allocate<RespCall>(keys);
  return MakeForKeys(command, arguments, may_name_tables, arena, calls, error)
             ? calls
             : std::span<RespCall>();
}

std::span<RespCall> CopyCalls(std::span<const RespCall> calls, base::Arena& arena) {
  const std::span<RespCall> kept = arena.Allocate<RespCall>(calls.size());
  std::copy(calls.begin(), calls.end(), kept.begin());
  return kept;
}

bool RespCallMaker::Add(const RespCommand& command, RespArguments arguments, bool may_name_tables,
                        base::Arena& arena, std::vector<RespCall>* calls,
                        std::string* error) const {
  error->clear();
  if (!locator_.KnowsKeyspaces(error)) return false;
  if (NamesManyKeys(command.verb)) {
    RespCall& call = calls->emplace_back();
    call.verb = command.verb;
    call.arguments = arguments;
    call.keyspaces = shared_.keyspaces;
    *error = TakeScan(shared_.schema, state_.database, *shared_.cursors, locator_.snapshot(), arena,
                      &call);
    return error->empty();
  }
  if (command.verb == Verb::kEval)
    return AddScript(command, arguments, may_name_tables, arena, calls, error);
  if (IsMoveVerb(command.verb))
    return AddMove(command, arguments, may_name_tables, arena, calls, error);
  size_t keys = 0;
  if (!CountCallKeys(command, arguments, &keys, error)) return false;
  calls->resize(calls->size() + keys);
  return MakeForKeys(command, arguments, may_name_tables, arena, std::span(*calls).last(keys),
                     error);
}

// The calls are made in their final place: copying them would cost as much as making them.
bool RespCallMaker::MakeForKeys(const RespCommand& command, RespArguments arguments,
                                bool may_name_tables, base::Arena& arena, std::span<RespCall> calls,
                                std::string* error) const {
  const size_t step = ArgumentsOfKey(command);
  for (size_t i = 0; i < calls.size(); ++i) {
    RespCall& call = calls[i];
    call.key_at = 1 + i * step;
    call.is_first = i == 0;
    call.is_last = i + 1 == calls.size();
    if (!MakeOne(command, arguments, may_name_tables, arena, &call, error)) return false;
  }
  if (command.verb == Verb::kMSetNx) MarkRepeated(calls, arena);
  return true;
}

bool RespCallMaker::MakeOne(const RespCommand& command, RespArguments arguments,
                            bool may_name_tables, base::Arena& arena, RespCall* call,
                            std::string* error) const {
  const bool sets = TraitsOf(command.verb).fields == RespFields::kPairs;
  if (sets && arguments.size() % 2 != 0) {
    *error = RespWrongCount(command.name);
    return false;
  }
  if (NamesTooManyFields(command.verb, arguments.size())) {
    *error = "TOOLARGE a command names at most " + std::to_string(model::kColumnsMax) + " fields";
    return false;
  }
  if (command.first_key == 2) {
    *error = WhyNotOfKey(command, arguments);
    if (!error->empty()) return false;
    call->key_at = 2;
  }
  call->verb = command.verb;
  call->arguments = arguments;
  call->database = state_.database;
  if (command.verb == Verb::kWatch) call->watch.image = &arena.Allocate<RespImage>(1)[0];
  if (!locator_.Locate(command.writes, may_name_tables, arena, call, error)) return false;
  if (command.verb == Verb::kRowRequire && arguments.size() > 5) {
    call->refusal =
        arguments.size() == 7 && IsWord(arguments[5], "error") ? arguments[6] : std::string_view();
    if (call->refusal.empty()) {
      *error = "ERR syntax error: ROW.REQUIRE key field op value [ERROR text]";
      return false;
    }
  }
  return true;
}

// A client that gets NOSCRIPT sends the text itself, which is then recognized or refused.
bool RespCallMaker::AddScript(const RespCommand& command, RespArguments arguments,
                              bool may_name_tables, base::Arena& arena,
                              std::vector<RespCall>* calls, std::string* error) const {
  std::string sha1;
  const bool has_text = command.name == "eval";
  const RespScript script =
      has_text ? shared_.scripts->Load(arguments[1], &sha1) : shared_.scripts->Find(arguments[1]);
  if (script == RespScript::kNone) {
    *error =
        has_text ? std::string(kRespNoScripts) : "NOSCRIPT No matching script. Please use EVAL.";
    return false;
  }
  if (arguments[2] != "1" || arguments.size() <= kScriptKeyAt + TraitsOf(script).arguments_min) {
    *error = "ERR the script has one key, and more arguments";
    return false;
  }
  RespCall& call = calls->emplace_back();
  const RespArguments words = WordsOf(script, arguments, arena);
  if (!words.empty()) {
    if (TraitsOf(script).kind == RespScriptKind::kField) call.script = script;
    if (ComparesField(script)) call.expected = ScriptArgument(arguments, TraitsOf(script).at.token);
    return MakeOne(*FindRespCommand(words[0]), words, may_name_tables, arena, &call, error);
  }
  call.verb = command.verb;
  call.script = WithoutNil(script);
  if (call.script != script) StringCommandOf(call, arena).answers_nil = true;
  call.arguments = arguments;
  call.key_at = kScriptKeyAt;
  call.database = state_.database;
  return locator_.Locate(/*writes=*/true, may_name_tables, arena, &call, error);
}

bool RespCallMaker::AddMove(const RespCommand& command, RespArguments arguments,
                            bool may_name_tables, base::Arena& arena, std::vector<RespCall>* calls,
                            std::string* error) const {
  RespMove& move = arena.Allocate<RespMove>(1)[0];
  move.removes = command.name != "copy";
  move.answers_number = command.name != "rename";
  move.only_if_absent = move.answers_number;
  std::string_view database = state_.database;
  for (size_t i = 3; i < arguments.size(); ++i) {
    if (IsWord(arguments[i], "replace")) {
      move.only_if_absent = false;
      continue;
    }
    const bool has_database = IsWord(arguments[i], "db") && i + 1 < arguments.size();
    const std::string_view why = has_database ? TakeDatabase(arguments[++i], &database) : kSyntax;
    if (!why.empty()) {
      *error = why;
      return false;
    }
  }
  RespCall steps[3];
  constexpr Verb kVerbs[] = {Verb::kMoveTake, Verb::kMovePut, Verb::kMoveRemove};
  size_t count = move.removes ? 3 : 2;
  for (size_t i = 0; i < count; ++i) {
    RespCall& call = steps[i];
    call.verb = kVerbs[i];
    call.arguments = arguments;
    call.key_at = i == 1 ? 2 : 1;
    call.database = i == 1 ? database : state_.database;
    call.move = &move;
    if (!locator_.Locate(/*writes=*/i != 0, may_name_tables, arena, &call, error)) return false;
  }
  std::string wrong;
  const bool is_same = IsSameRow(steps[0], steps[1], &wrong);
  if (is_same && !move.removes) wrong = "ERR source and destination objects are the same";
  if (is_same) count = 1;  // RENAME of a key to itself only asks whether it exists.
  if (!wrong.empty()) {
    *error = std::move(wrong);
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    steps[i].is_first = i == 0;
    steps[i].is_last = i + 1 == count;
    calls->push_back(steps[i]);
  }
  return true;
}

}  // namespace rowsocket::frontend
