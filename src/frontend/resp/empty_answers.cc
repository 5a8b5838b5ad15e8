#include "frontend/resp/empty_answers.h"

#include <cstdint>
#include <string>

#include "frontend/resp/error_text.h"
#include "frontend/resp/help.h"
#include "frontend/resp/numbers.h"
#include "keyspace/time.h"

namespace rowsocket::frontend {

using Verb = RespVerb;

namespace {

/// Each write that has its answer is on disk, so that the last save is now.
void AppendLastSave(base::Buffer& out) {
  resp::AppendInteger(keyspace::WallClockMs() / 1000, &out);
}

void AppendModule(RespArguments arguments, base::Buffer& out) {
  const std::string_view what = arguments[1];
  if (IsWord(what, "load") || IsWord(what, "loadex") || IsWord(what, "unload"))
    return resp::AppendError("NOTSERVED only MODULE LIST is served: modules are not loaded", &out);
  if (!IsWord(what, "list")) return AppendHelp(arguments, &out);
  if (arguments.size() != 2) return resp::AppendError(RespWrongCount("module", what), &out);
  resp::AppendArray(0, &out);
}

void AppendPubSub(RespArguments arguments, base::Buffer& out) {
  const std::string_view what = arguments[1];
  const RespArguments channels = arguments.subspan(2);
  if (IsWord(what, "channels") || IsWord(what, "shardchannels")) {
    if (channels.size() < 2) return resp::AppendArray(0, &out);
    return resp::AppendError("ERR unknown subcommand or wrong number of arguments for '" +
                                 std::string(what) + "'. Try PUBSUB HELP.",
                             &out);
  }
  if (IsWord(what, "numpat")) {
    if (channels.empty()) return resp::AppendInteger(0, &out);
    return resp::AppendError(RespWrongCount("pubsub", what), &out);
  }
  if (!IsWord(what, "numsub") && !IsWord(what, "shardnumsub")) return AppendHelp(arguments, &out);
  resp::AppendArray(2 * channels.size(), &out);
  for (const std::string_view channel : channels) {
    resp::AppendBulk(channel, &out);
    resp::AppendInteger(0, &out);
  }
}

/// One confirmation for each channel, or one for none.
void AppendUnsubscribed(RespArguments arguments, resp::Version version, base::Buffer& out) {
  const std::string name = Lower(arguments[0]);
  for (size_t i = 1; i == 1 || i < arguments.size(); ++i) {
    resp::AppendPush(3, version, &out);
    resp::AppendBulk(name, &out);
    if (i < arguments.size())
      resp::AppendBulk(arguments[i], &out);
    else
      resp::AppendNil(version, &out);
    resp::AppendInteger(0, &out);
  }
}

/// No replica confirms over this port what it has, so that none is waited for.
void AppendWait(RespArguments arguments, base::Buffer& out) {
  int64_t replicas = 0, timeout_ms = 0;
  if (!ParsePlainInteger(arguments[1], &replicas)) return resp::AppendError(kNoInteger, &out);
  if (!ParsePlainInteger(arguments[2], &timeout_ms))
    return resp::AppendError("ERR timeout is not an integer or out of range", &out);
  if (timeout_ms < 0) return resp::AppendError("ERR timeout is negative", &out);
  resp::AppendInteger(0, &out);
}

}  // namespace

bool AppendEmptyAnswer(Verb verb, RespArguments arguments, resp::Version version,
                       base::Buffer& out) {
  switch (verb) {
    case Verb::kLastSave:
      AppendLastSave(out);
      break;
    case Verb::kModule:
      AppendModule(arguments, out);
      break;
    case Verb::kPubSub:
      AppendPubSub(arguments, out);
      break;
    case Verb::kUnsubscribe:
      AppendUnsubscribed(arguments, version, out);
      break;
    case Verb::kWait:
      AppendWait(arguments, out);
      break;
    default:
      return false;
  }
  return true;
}

}  // namespace rowsocket::frontend
