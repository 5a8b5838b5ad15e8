#include "frontend/resp/describe.h"

#include <string>
#include <vector>

#include "frontend/resp/command.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/help.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

using Verb = RespVerb;

namespace {

// COMMAND GETKEYS: which of a command's arguments are its keys. For EVAL, the number of keys is an
// argument.
void AppendKeys(RespArguments asked, base::Buffer* out) {
  if (asked.size() < 2) {
    return resp::AppendError(RespWrongCount("command", "getkeys"), out);
  }
  const RespCommand* const command = FindRespCommand(asked[0]);
  if (command == nullptr || command->verb == Verb::kRefused)
    return resp::AppendError("ERR Invalid command specified", out);
  if (command->first_key == 0)
    return resp::AppendError("ERR The command has no key arguments", out);
  if (!TakesArguments(*command, asked.size())) {
    return resp::AppendError("ERR Invalid number of arguments specified for command", out);
  }
  size_t end = command->last_key < 0 ? asked.size() : static_cast<size_t>(command->last_key) + 1;
  if (command->verb == Verb::kEval) {
    int64_t keys = 0;
    const bool is_right = ParsePlainInteger(asked[2], &keys) && keys >= 0 &&
                          static_cast<uint64_t>(keys) <= asked.size() - 3;
    end = 3 + (is_right ? static_cast<size_t>(keys) : 0);
  }
  // A command whose keys come after a subcommand (OBJECT ENCODING key) may come without keys.
  if (end > asked.size())
    return resp::AppendError("ERR Invalid number of arguments specified for command", out);
  const size_t step = TraitsOf(command->verb).has_pairs() ? 2 : 1;
  std::vector<std::string_view> keys;
  for (auto at = static_cast<size_t>(command->first_key); at < end; at += step) {
    keys.push_back(asked[at]);
  }
  resp::AppendArray(keys.size(), out);
  for (const std::string_view key : keys) resp::AppendBulk(key, out);
}

// Lists commands by name. Filters by module or category leave nothing, because no command is in
// one.
void ListCommands(RespArguments filter, base::Buffer& out) {
  const bool filters = filter.size() == 3 && IsWord(filter[0], "filterby");
  if (filters && (IsWord(filter[1], "module") || IsWord(filter[1], "aclcat"))) {
    return resp::AppendArray(0, &out);
  }
  if (!filter.empty() && !(filters && IsWord(filter[1], "pattern")))
    return resp::AppendError(kSyntax, &out);
  if (!filter.empty() && filter[2].size() > model::kRespPatternBytesMax) {
    return resp::AppendError(kRespLongPattern, &out);
  }
  std::vector<std::string_view> names;
  for (const RespCommand& command : RespCommands()) {
    if (command.verb == Verb::kRefused) continue;
    if (filter.empty() || MatchesPattern(Lower(filter[2]), command.name))
      names.push_back(command.name);
  }
  resp::AppendArray(names.size(), &out);
  for (const std::string_view name : names) resp::AppendBulk(name, &out);
}

}  // namespace

void DescribeCommands(RespArguments arguments, resp::Version version, base::Buffer& out) {
  const auto describe = [&](const RespCommand& command) {
    resp::AppendArray(10, &out);
    resp::AppendBulk(command.name, &out);
    resp::AppendInteger(command.arity, &out);
    resp::AppendSet(1, version, &out);
    resp::AppendSimple(command.writes ? "write" : "readonly", &out);
    resp::AppendInteger(command.first_key, &out);
    resp::AppendInteger(command.last_key, &out);
    resp::AppendInteger(command.first_key == 0               ? 0
                        : TraitsOf(command.verb).has_pairs() ? 2
                                                             : 1,
                        &out);
    // There are no categories, tips, key specifications or subcommands.
    for (int i = 0; i < 4; ++i) resp::AppendSet(0, version, &out);
  };
  size_t served = 0;
  for (const RespCommand& command : RespCommands()) served += command.verb != Verb::kRefused;
  const std::string_view what = arguments.size() > 1 ? arguments[1] : std::string_view();
  if (what.empty() || (IsWord(what, "info") && arguments.size() == 2)) {
    resp::AppendArray(served, &out);
    for (const RespCommand& command : RespCommands()) {
      if (command.verb != Verb::kRefused) describe(command);
    }
  } else if (IsWord(what, "count") && arguments.size() > 2) {
    resp::AppendError(RespWrongCount("command", "count"), &out);
  } else if (IsWord(what, "count")) {
    resp::AppendInteger(static_cast<int64_t>(served), &out);
  } else if (IsWord(what, "docs")) {
    resp::AppendMap(0, version, &out);
  } else if (IsWord(what, "list")) {
    ListCommands(arguments.subspan(2), out);
  } else if (IsWord(what, "info")) {
    resp::AppendArray(arguments.size() - 2, &out);
    for (const std::string_view name : arguments.subspan(2)) {
      const RespCommand* const command = FindRespCommand(name);
      if (command != nullptr && command->verb != Verb::kRefused)
        describe(*command);
      else
        resp::AppendNil(version, &out);
    }
  } else if (IsWord(what, "getkeys")) {
    AppendKeys(arguments.subspan(2), &out);
  } else {
    AppendHelp(arguments, &out);
  }
}

}  // namespace rowsocket::frontend
