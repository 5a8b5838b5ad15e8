#include "protocol/memcached/command_line.h"

#include <algorithm>

#include "model/client_name.h"
#include "protocol/memcached/numbers.h"

namespace rowsocket::memcached {

namespace {

/// Moves over blanks and takes the token behind them, which is empty when there is no more.
std::string_view TakeToken(std::string_view* rest) {
  const size_t begin = std::min(rest->find_first_not_of(' '), rest->size());
  rest->remove_prefix(begin);
  const std::string_view token = rest->substr(0, rest->find(' '));
  rest->remove_prefix(token.size());
  return token;
}

void SetError(Error error, Command* command) {
  if (command->error == Error::kNone) command->error = error;
}

/// Parses the keys of get and gat. A key that is too long is the error of the whole command.
void ParseKeys(std::string_view rest, base::Arena& arena, Command* command) {
  const std::string_view first = TakeToken(&rest);
  if (first.empty()) return SetError(Error::kBadFormat, command);
  size_t count = 1;
  for (std::string_view ahead = rest; !TakeToken(&ahead).empty();) ++count;
  if (count > model::kMemcachedKeysMax) return SetError(Error::kLineTooLong, command);
  const std::span<std::string_view> keys = arena.Allocate<std::string_view>(count);
  for (size_t i = 0; i < count; ++i) {
    keys[i] = i == 0 ? first : TakeToken(&rest);
    if (keys[i].size() > model::kMemcachedKeyBytesMax) return SetError(Error::kBadFormat, command);
  }
  command->keys = keys;
}

void ParseGet(std::string_view rest, bool with_cas, base::Arena& arena, Command* command) {
  command->verb = Verb::kGet;
  command->returns_value = true;
  command->returns_cas = with_cas;
  ParseKeys(rest, arena, command);
}

void ParseGat(std::string_view rest, bool with_cas, base::Arena& arena, Command* command) {
  command->verb = Verb::kGat;
  command->returns_value = true;
  command->returns_cas = with_cas;
  const std::string_view exptime = TakeToken(&rest);
  if (rest.find_first_not_of(' ') == std::string_view::npos) {
    return SetError(Error::kBadFormat, command);
  }
  if (!ParseSigned(exptime, &command->exptime)) return SetError(Error::kBadExptime, command);
  ParseKeys(rest, arena, command);
}

/// `<verb> <key> <flags> <exptime> <bytes> [<cas>] [noreply]`
void ParseStore(const Tokens& tokens, Verb verb, bool with_cas, base::Arena& arena,
                Command* command, DataBlock* data) {
  command->verb = verb;
  if (tokens.count < 5) return SetError(Error::kBadFormat, command);
  SetDataBlock(tokens[4], command, data);
  if (!data->follows) return;
  command->quiet = tokens.last == "noreply";
  SetKey(tokens[1], arena, command);
  if (!ParseClientFlags(tokens[2], &command->client_flags) ||
      !ParseSigned(tokens[3], &command->exptime)) {
    SetError(Error::kBadFormat, command);
  }
  if (!with_cas) return;
  command->compares_cas = true;
  if (tokens.count < 6 || !ParseUnsigned(tokens[5], &command->cas)) {
    SetError(Error::kBadFormat, command);
  }
}

/// `<verb> <key> <argument> [noreply]`
void ParseWithArgument(const Tokens& tokens, Verb verb, base::Arena& arena, Command* command) {
  command->verb = verb;
  if (tokens.count < 3) return SetError(Error::kBadFormat, command);
  command->quiet = tokens.last == "noreply";
  SetKey(tokens[1], arena, command);
  if (verb == Verb::kTouch) {
    if (!ParseSigned(tokens[2], &command->exptime)) SetError(Error::kBadExptime, command);
  } else if (!ParseUnsigned(tokens[2], &command->delta)) {
    SetError(Error::kBadDelta, command);
  }
}

/// `delete <key> [0] [noreply]`: the 0 is a remnant of a time that clients once sent.
void ParseDelete(const Tokens& tokens, base::Arena& arena, Command* command) {
  command->verb = Verb::kDelete;
  if (tokens.count < 2) return SetError(Error::kBadFormat, command);
  if (tokens.count > 4) return SetError(Error::kError, command);
  command->quiet = tokens.count > 2 && tokens.last == "noreply";
  SetKey(tokens[1], arena, command);
  const bool has_time = tokens.count > (command->quiet ? 3u : 2u);
  if (has_time && tokens[2] != "0") SetError(Error::kDeleteUsage, command);
}

void ParseFlushAll(const Tokens& tokens, Command* command) {
  command->verb = Verb::kFlushAll;
  command->quiet = tokens.count > 1 && tokens.last == "noreply";
  const bool has_delay = tokens.count > (command->quiet ? 2u : 1u);
  if (has_delay && !ParseSigned(tokens[1], &command->exptime)) {
    SetError(Error::kBadExptime, command);
  }
}

/// Parses verbosity and cache_memlimit, which take a number and have no effect.
void ParseVerbosity(const Tokens& tokens, Command* command) {
  command->verb = Verb::kVerbosity;
  command->quiet = tokens.count > 1 && tokens.last == "noreply";
  uint32_t level = 0;
  if (tokens.count < 2 || !ParseUnsigned32(tokens[1], &level)) {
    SetError(Error::kBadFormat, command);
  }
}

/// Names the connection, for operators: `client_name [<name> [noreply]]`.
void ParseClientName(const Tokens& tokens, Command* command) {
  command->verb = Verb::kClientName;
  if (tokens.count < 2) return;
  command->quiet = tokens.count > 2 && tokens.last == "noreply";
  if (!model::IsClientName(tokens[1])) return SetError(Error::kBadFormat, command);
  command->client_name = tokens[1];
}

/// Administers slabs, which do not exist here. One of memcached's tests asks for the answer to
/// `slabs automove invalid`.
void ParseSlabs(const Tokens& tokens, Command* command) {
  uint32_t number = 0;
  const bool bad =
      tokens.count == 3 && tokens[1] == "automove" && !ParseUnsigned32(tokens[2], &number);
  SetError(bad ? Error::kBadFormat : Error::kError, command);
}

void ParseQuit(Command* command) {
  command->verb = Verb::kQuit;
  command->quiet = true;
  command->closes = true;
}

/// Returns false when the verb is not a storing verb.
bool ParseStoring(const Tokens& tokens, base::Arena& arena, Command* command, DataBlock* data) {
  struct Name {
    std::string_view name;
    Verb verb;
    bool with_cas = false;
  };
  static constexpr Name kNames[] = {
      {"set", Verb::kSet},       {"add", Verb::kAdd},       {"replace", Verb::kReplace},
      {"append", Verb::kAppend}, {"cas", Verb::kSet, true}, {"prepend", Verb::kPrepend},
  };
  for (const Name& name : kNames) {
    if (tokens[0] != name.name) continue;
    ParseStore(tokens, name.verb, name.with_cas, arena, command, data);
    return true;
  }
  return false;
}

/// Returns false when there is no such verb.
bool ParseOther(std::string_view rest, const Tokens& tokens, base::Arena& arena, Command* command) {
  const std::string_view verb = tokens[0];
  if (verb == "delete") {
    ParseDelete(tokens, arena, command);
  } else if (verb == "incr") {
    ParseWithArgument(tokens, Verb::kIncrement, arena, command);
  } else if (verb == "decr") {
    ParseWithArgument(tokens, Verb::kDecrement, arena, command);
  } else if (verb == "touch") {
    ParseWithArgument(tokens, Verb::kTouch, arena, command);
  } else if (verb == "gat" || verb == "gats") {
    ParseGat(rest, verb.size() == 4, arena, command);
  } else if (verb == "stats") {
    command->verb = Verb::kStats;
    const size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
    command->stats_arguments = rest.substr(begin, rest.find_last_not_of(' ') + 1 - begin);
  } else if (verb == "version") {
    command->verb = Verb::kVersion;
  } else if (verb == "flush_all") {
    ParseFlushAll(tokens, command);
  } else if (verb == "verbosity" || verb == "cache_memlimit") {
    ParseVerbosity(tokens, command);
  } else if (verb == "quit") {
    ParseQuit(command);
  } else if (verb == "client_name") {
    ParseClientName(tokens, command);
  } else if (verb == "slabs") {
    ParseSlabs(tokens, command);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string_view Command::stats_word(size_t number) const {
  std::string_view rest = stats_arguments;
  std::string_view word = TakeToken(&rest);
  while (number-- > 0) word = TakeToken(&rest);
  return word;
}

Tokens::Tokens(std::string_view line) {
  for (std::string_view token = TakeToken(&line); !token.empty(); token = TakeToken(&line)) {
    if (count < kKeptMax) first[count] = token;
    last = token;
    ++count;
  }
}

void SetKey(std::string_view key, base::Arena& arena, Command* command) {
  if (key.size() > model::kMemcachedKeyBytesMax) return SetError(Error::kBadFormat, command);
  const std::span<std::string_view> keys = arena.Allocate<std::string_view>(1);
  keys.front() = key;
  command->keys = keys;
}

void SetDataBlock(std::string_view token, Command* command, DataBlock* data) {
  uint64_t bytes = 0;
  if (!ParseUnsigned(token, &bytes) || bytes > kDataBlockBytesMax) {
    return SetError(Error::kBadFormat, command);
  }
  *data = {true, bytes};
}

bool ParseLine(std::string_view line, base::Arena& arena, Command* command, DataBlock* data) {
  *command = Command();
  *data = DataBlock();
  std::string_view rest = line;
  const std::string_view verb = TakeToken(&rest);
  if (verb == "get" || verb == "gets") {
    // get has a parser of its own: it may have any number of tokens, and must be fast.
    ParseGet(rest, verb.size() == 4, arena, command);
    return true;
  }
  if (line.size() < 2) {
    // The error is that of memcached 1.6.45, whose verbs have at least two letters.
    command->error = Error::kBadFormat;
    return true;
  }
  const Tokens tokens(line);
  if (verb.starts_with('m') && ParseMeta(tokens, arena, command, data)) return true;
  if (ParseStoring(tokens, arena, command, data)) return true;
  if (ParseOther(rest, tokens, arena, command)) return true;
  if (tokens.count > 1 && tokens.last.starts_with("HTTP/")) return false;
  command->error = Error::kError;
  return true;
}

}  // namespace rowsocket::memcached
