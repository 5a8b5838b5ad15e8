#include "frontend/resp/help.h"

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/resp/command.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

namespace {

struct Help {
  std::string_view command;  ///< In lower case.
  /// Lines, each ending with a line feed: a subcommand with its arguments, or what it does.
  std::string_view lines;
};

constexpr Help kHelp[] = {
    {"acl", "WHOAMI\n    The account of this connection.\n"},
    {"client",
     "GETNAME\n    The name of this connection.\n"
     "GETREDIR\n    -1: there is no client tracking.\n"
     "ID\n    The number of this connection.\n"
     "INFO\n    This connection's line of CLIENT LIST.\n"
     "KILL <ip:port> | [ID <id>] [ADDR <ip:port>] [LADDR <ip:port>] [USER <name>] [TYPE <type>] "
     "[SKIPME (yes|no)]\n    End connections.\n"
     "LIST [TYPE <type>] [ID <id> ...]\n    The connections of this port.\n"
     "NO-EVICT (ON|OFF)\n    Nothing is evicted here.\n"
     "NO-TOUCH (ON|OFF)\n    No time of last use is kept here.\n"
     "REPLY (ON|OFF|SKIP)\n    Whether commands are answered.\n"
     "SETINFO <LIB-NAME|LIB-VER> <value>\n    Name the client's library.\n"
     "SETNAME <name>\n    Name this connection.\n"
     "TRACKING OFF\n    Has no effect: there is no client tracking.\n"
     "TRACKINGINFO\n    Off: there is no client tracking.\n"
     "UNBLOCK <id> [TIMEOUT|ERROR]\n    0: no client is ever blocked here.\n"},
    {"command",
     "(no subcommand)\n    All commands.\n"
     "COUNT\n    How many commands there are.\n"
     "DOCS [<command> ...]\n    What commands there are.\n"
     "GETKEYS <command and its arguments>\n    The keys among the arguments.\n"
     "INFO [<command> ...]\n    Arguments and keys of commands.\n"
     "LIST\n    The names of all commands.\n"},
    {"config", "GET <pattern> [<pattern> ...]\n    The settings that clients ask for.\n"},
    {"function",
     "FLUSH [ASYNC|SYNC]\n    Has no effect.\n"
     "LIST [LIBRARYNAME <pattern>] [WITHCODE]\n    Nothing: there are no functions.\n"},
    {"latency",
     "HISTOGRAM [<command> ...]\n    How long commands took, since FLUSH STATUS in SQL.\n"
     "LATEST\n    Nothing: see information_schema.ROWSOCKET_LATENCY.\n"
     "RESET\n    0: use FLUSH STATUS in SQL.\n"},
    {"memory",
     "USAGE <key> [SAMPLES <count>]\n    The bytes of the key, its fields and its values.\n"},
    {"module", "LIST\n    Nothing: there are no modules.\n"},
    {"object",
     "ENCODING <key>\n    As a Redis would keep the value.\n"
     "FREQ <key>\n    An error: no frequency of use is kept here.\n"},
    {"pubsub",
     "CHANNELS [<pattern>]\n    Nothing: no message is passed on.\n"
     "NUMPAT\n    0.\n"
     "NUMSUB [<channel> ...]\n    0 for each channel.\n"
     "SHARDCHANNELS [<pattern>]\n    As CHANNELS.\n"
     "SHARDNUMSUB [<channel> ...]\n    As NUMSUB.\n"},
    {"script",
     "EXISTS <sha1> [<sha1> ...]\n    Whether scripts are among those that are served.\n"
     "FLUSH [ASYNC|SYNC]\n    Has no effect.\n"
     "LOAD <script>\n    The SHA1 of one of the scripts that are served.\n"},
    {"slowlog",
     "GET [<count>]\n    The latest requests that were slower than long_query_time.\n"
     "LEN\n    How many of them there are.\n"
     "RESET\n    Forget them.\n"},
};

/// The help of a command; null: there is none.
const Help* FindHelp(std::string_view command) {
  const auto* const help = std::find_if(std::begin(kHelp), std::end(kHelp), [&](const Help& one) {
    return IsWord(command, one.command);
  });
  return help == std::end(kHelp) ? nullptr : help;
}

}  // namespace

bool AsksForHelp(RespArguments arguments) {
  return arguments.size() == 2 && IsWord(arguments[1], "help") && FindHelp(arguments[0]) != nullptr;
}

void AppendHelp(RespArguments arguments, base::Buffer* out) {
  std::string upper = Lower(arguments[0]);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char byte) { return byte >= 'a' && byte <= 'z' ? byte & ~0x20 : byte; });
  if (!AsksForHelp(arguments)) {
    return resp::AppendError("ERR unknown subcommand '" + std::string(arguments[1].substr(0, 64)) +
                                 "'. Try " + upper + " HELP.",
                             out);
  }
  std::vector<std::string> lines = {upper +
                                    " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"};
  for (std::string_view rest = FindHelp(arguments[0])->lines; !rest.empty();) {
    const size_t end = rest.find('\n');
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  lines.emplace_back("HELP");
  lines.emplace_back("    These lines.");
  resp::AppendArray(lines.size(), out);
  for (const std::string& line : lines) resp::AppendSimple(line, out);
}

}  // namespace rowsocket::frontend
