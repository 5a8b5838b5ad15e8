#include "frontend/resp/server_commands.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "frontend/resp/clients.h"
#include "frontend/resp/describe.h"
#include "frontend/resp/empty_answers.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/help.h"
#include "model/limits.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

using exec::Item;
using Verb = RespVerb;

namespace {

constexpr std::pair<std::string_view, std::string_view> kConfig[] = {
    {"appendonly", "yes"},
    {"maxmemory", "0"},
    {"save", ""},
    {"maxmemory-policy", "noeviction"},
    {"replica-read-only", "yes"},
    {"slave-read-only", "yes"}};

/// Whether CONFIG SET sets only how Redis keeps small values in memory, which makes no difference
/// here.
bool SetsOnlyEncodings(RespArguments arguments) {
  if (arguments.size() < 4 || arguments.size() % 2 != 0) return false;
  for (size_t i = 2; i < arguments.size(); i += 2) {
    const std::string name = Lower(arguments[i]);
    const bool is_one = name.find("-max-listpack-") != name.npos ||
                        name.find("-max-ziplist-") != name.npos ||
                        name.find("-max-intset-") != name.npos || name == "list-compress-depth";
    if (!is_one) return false;
  }
  return true;
}

void AppendPing(RespArguments arguments, base::Buffer* out) {
  if (arguments.size() > 2) {
    resp::AppendError(RespWrongCount("ping"), out);
  } else if (arguments.size() == 2) {
    resp::AppendBulk(arguments[1], out);
  } else {
    resp::AppendSimple("PONG", out);
  }
}

void AppendTime(base::Buffer& out) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  resp::AppendArray(2, &out);
  resp::AppendBulk(std::to_string(us / 1'000'000), &out);
  resp::AppendBulk(std::to_string(us % 1'000'000), &out);
}

/// The error in the options of FUNCTION LIST; empty: none.
std::string WrongOfFunctionList(RespArguments options) {
  bool has_code = false, has_name = false;
  for (size_t i = 0; i < options.size(); ++i) {
    if (!has_code && IsWord(options[i], "withcode")) {
      has_code = true;
    } else if (!has_name && IsWord(options[i], "libraryname")) {
      if (++i == options.size()) return "ERR library name argument was not given";
      has_name = true;
    } else {
      return "ERR Unknown argument " + std::string(options[i].substr(0, 64));
    }
  }
  return {};
}

std::string WrongOfFunctionFlush(RespArguments options) {
  if (options.size() > 1) {
    return "ERR unknown subcommand or wrong number of arguments for 'FLUSH'. Try FUNCTION HELP.";
  }
  const bool is_right =
      options.empty() || IsWord(options[0], "sync") || IsWord(options[0], "async");
  return is_right ? "" : "ERR FUNCTION FLUSH only supports SYNC|ASYNC option";
}

/// Answers FUNCTION: there are no functions to list or to flush.
void AppendFunction(RespArguments arguments, base::Buffer* out) {
  const bool flushes = IsWord(arguments[1], "flush");
  if (!flushes && !IsWord(arguments[1], "list")) return resp::AppendError(kRespNoScripts, out);
  const auto options = arguments.subspan(2);
  const std::string wrong = flushes ? WrongOfFunctionFlush(options) : WrongOfFunctionList(options);
  if (!wrong.empty()) return resp::AppendError(wrong, out);
  if (flushes)
    resp::AppendSimple("OK", out);
  else
    resp::AppendArray(0, out);
}

void AppendAcl(RespArguments arguments, const model::Account* account, base::Buffer& out) {
  if (!IsWord(arguments[1], "whoami") || arguments.size() != 2) {
    return resp::AppendError("NOTSERVED only ACL WHOAMI is served: use GRANT in SQL", &out);
  }
  resp::AppendBulk(account != nullptr ? account->user() : std::string(kRespDefaultUser), &out);
}

/// The name of a setting in the reply: as the client has spelled it, or the setting's own name if a
/// pattern matches; empty: the setting is not asked for.
std::string_view AskedName(RespArguments patterns, std::string_view name) {
  for (const std::string_view pattern : patterns) {
    if (IsWord(pattern, name)) return pattern;
    if (MatchesPattern(Lower(pattern), name)) return name;
  }
  return {};
}

/// Why the command about the server's settings is not served; empty: it is.
std::string RefusalOfConfig(RespArguments arguments) {
  if (IsWord(arguments[1], "resetstat")) {
    return "NOTSERVED counters are set to 0 by FLUSH STATUS in SQL";
  }
  if (!IsWord(arguments[1], "get")) {
    return "NOTSERVED only CONFIG GET is served: use SET GLOBAL in SQL";
  }
  if (arguments.size() < 3) return RespWrongCount("config", "get");
  static_assert(model::kRespConfigPatternsMax == 64, "the text names the limit");
  if (arguments.size() - 2 > model::kRespConfigPatternsMax)
    return "TOOLARGE CONFIG GET takes 64 patterns at most";
  const bool is_long = std::any_of(
      arguments.begin() + 2, arguments.end(),
      [](std::string_view pattern) { return pattern.size() > model::kRespPatternBytesMax; });
  return std::string(is_long ? kRespLongPattern : "");
}

}  // namespace

bool RespServerCommands::Append(Verb verb, RespArguments arguments, const model::Account* account,
                                base::Buffer& out, Item* item) {
  switch (verb) {
    case Verb::kPing:
      AppendPing(arguments, &out);
      break;
    case Verb::kEcho:
      resp::AppendBulk(arguments[1], &out);
      break;
    case Verb::kPublish:
      resp::AppendInteger(0, &out);
      break;
    case Verb::kTime:
      AppendTime(out);
      break;
    case Verb::kRole:
      AppendRole(out);
      break;
    case Verb::kInfo:
      item->is_costly = true;
      resp::AppendVerbatim(monitor_.Info(arguments.subspan(1)), state_.version, &out);
      break;
    case Verb::kConfig:
      AppendConfig(arguments, out);
      break;
    case Verb::kCluster:
      resp::AppendError(kRespNoCluster, &out);
      break;
    case Verb::kAcl:
      AppendAcl(arguments, account, out);
      break;
    case Verb::kFunction:
      AppendFunction(arguments, &out);
      break;
    case Verb::kScript:
      AppendScript(arguments, out);
      break;
    case Verb::kLatency:
      item->is_costly = true;
      monitor_.AppendLatency(arguments, state_.version, out);
      break;
    case Verb::kSlowlog:
      monitor_.AppendSlowlog(arguments, account, out);
      break;
    case Verb::kHotkeys:
      item->is_large = true;
      monitor_.AppendHotkeys(arguments, account, locator_.snapshot(), state_.version, out);
      break;
    case Verb::kClient:
      item->is_large = IsWord(arguments[1], "list");
      item->is_costly = item->is_large || IsWord(arguments[1], "kill");
      own_client_.AppendClient(arguments, state_, account, out, item);
      break;
    case Verb::kCommand:
      DescribeCommands(arguments, state_.version, out);
      break;
    default:
      return AppendEmptyAnswer(verb, arguments, state_.version, out);
  }
  return true;
}

void RespServerCommands::AppendConfig(RespArguments arguments, base::Buffer& out) const {
  if (IsWord(arguments[1], "set") && SetsOnlyEncodings(arguments)) {
    return resp::AppendSimple("OK", &out);
  }
  const std::string refusal = RefusalOfConfig(arguments);
  if (!refusal.empty()) return resp::AppendError(refusal, &out);
  std::vector<std::pair<std::string_view, std::string>> asked;
  const auto add = [&](std::string_view name, const auto& value) {
    const std::string_view shown = AskedName(arguments.subspan(2), name);
    if (!shown.empty()) asked.emplace_back(shown, value);
  };
  for (const auto& [name, value] : kConfig) add(name, value);
  // Clients read `databases` before they send SELECT, `timeout` for how often to send a PING, and
  // `proto-max-bulk-len` for the longest value that they may send.
  add("databases", std::to_string(std::size(kRespDatabases)));
  add("timeout", std::to_string(shared_.limits.idle_timeout_s));
  add("proto-max-bulk-len", std::to_string(shared_.limits.line_bytes_max));
  resp::AppendMap(asked.size(), state_.version, &out);
  for (const auto& [name, value] : asked) {
    resp::AppendBulk(name, &out);
    resp::AppendBulk(value, &out);
  }
}

void RespServerCommands::AppendScript(RespArguments arguments, base::Buffer& out) const {
  const std::string_view what = arguments[1];
  std::string sha1;
  if (IsWord(what, "load") && arguments.size() == 3) {
    if (shared_.scripts->Load(arguments[2], &sha1) == RespScript::kNone)
      return resp::AppendError(kRespNoScripts, &out);
    resp::AppendBulk(sha1, &out);
  } else if (IsWord(what, "exists") && arguments.size() > 2) {
    resp::AppendArray(arguments.size() - 2, &out);
    for (const std::string_view one : arguments.subspan(2)) {
      resp::AppendInteger(shared_.scripts->Find(one) != RespScript::kNone, &out);
    }
  } else if (IsWord(what, "flush")) {
    const bool is_right =
        arguments.size() == 2 ||
        (arguments.size() == 3 && (IsWord(arguments[2], "sync") || IsWord(arguments[2], "async")));
    if (!is_right)
      return resp::AppendError("ERR SCRIPT FLUSH only support SYNC|ASYNC option", &out);
    resp::AppendSimple("OK", &out);
  } else if (IsWord(what, "load") || IsWord(what, "exists")) {
    resp::AppendError(RespWrongCount("script", what), &out);
  } else {
    AppendHelp(arguments, &out);
  }
}

void RespServerCommands::AppendRole(base::Buffer& out) const {
  if (!shared_.takes_writes()) {
    resp::AppendArray(5, &out);
    resp::AppendBulk("slave", &out);
    resp::AppendBulk("", &out);
    resp::AppendInteger(0, &out);
    resp::AppendBulk("connected", &out);
    return resp::AppendInteger(0, &out);
  }
  resp::AppendArray(3, &out);
  resp::AppendBulk("master", &out);
  resp::AppendInteger(0, &out);
  resp::AppendArray(0, &out);
}

}  // namespace rowsocket::frontend
