#include "protocol/memcached/command_line.h"

#include <algorithm>

#include "model/client_name.h"
#include "protocol/memcached/numbers.h"

namespace rowsocket::memcached {

namespace {

/// Skips blanks, and takes the word after them; empty: there is none.
std::string_view NextWord(std::string_view* rest) {
  const size_t begin = std::min(rest->find_first_not_of(' '), rest->size());
  rest->remove_prefix(begin);
  const std::string_view word = rest->substr(0, rest->find(' '));
  rest->remove_prefix(word.size());
  return word;
}

void SetError(Error error, Command* command) {
  if (command->error == Error::kNone) command->error = error;
}

/// Parses the keys of get and gat. A key that is too long is the error of the whole command.
void ParseKeys(std::string_view rest, base::Arena& arena, Command* command) {
  const std::string_view first = NextWord(&rest);
  if (first.empty()) return SetError(Error::kBadFormat, command);
  size_t count = 1;
  for (std::string_view ahead = rest; !NextWord(&ahead).empty();) ++count;
  if (count > model::kMemcachedKeysMax) return SetError(Error::kLineTooLong, command);
  const std::span<std::string_view> keys = arena.Allocate<std::string_view>(count);
  for (size_t i = 0; i < count; ++i) {
    keys[i] = i == 0 ? first : NextWord(&rest);
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
  const std::string_view exptime = NextWord(&rest);
  if (rest.find_first_not_of(' ') == std::string_view::npos) {
    return SetError(Error::kBadFormat, command);
  }
  if (!ParseExptime(exptime, &command->exptime)) return SetError(Error::kBadExptime, command);
  ParseKeys(rest, arena, command);
}

/// `<verb> <key> <flags> <exptime> <bytes> [<cas>] [noreply]`
void ParseStore(const FirstWords& words, Verb verb, bool with_cas, base::Arena& arena,
                Command* command, DataBlock* data) {
  command->verb = verb;
  if (words.count < 5) return SetError(Error::kBadFormat, command);
  SetDataBlock(words[4], command, data);
  if (!data->follows) return;
  command->quiet = words.last == "noreply";
  SetKey(words[1], arena, command);
  if (!ParseClientFlags(words[2], &command->client_flags) ||
      !ParseExptime(words[3], &command->exptime)) {
    SetError(Error::kBadFormat, command);
  }
  if (!with_cas) return;
  command->compares_cas = true;
  if (words.count < 6 || !ParseUnsigned(words[5], &command->cas)) {
    SetError(Error::kBadFormat, command);
  }
}

/// `<verb> <key> <argument> [noreply]`
void ParseWithArgument(const FirstWords& words, Verb verb, base::Arena& arena, Command* command) {
  command->verb = verb;
  if (words.count < 3) return SetError(Error::kBadFormat, command);
  command->quiet = words.last == "noreply";
  SetKey(words[1], arena, command);
  if (verb == Verb::kTouch) {
    if (!ParseExptime(words[2], &command->exptime)) SetError(Error::kBadExptime, command);
  } else if (!ParseUnsigned(words[2], &command->delta)) {
    SetError(Error::kBadDelta, command);
  }
}

/// `delete <key> [0] [noreply]`: the 0 is left over from a time that clients once had to send.
void ParseDelete(const FirstWords& words, base::Arena& arena, Command* command) {
  command->verb = Verb::kDelete;
  if (words.count < 2) return SetError(Error::kBadFormat, command);
  if (words.count > 4) return SetError(Error::kError, command);
  command->quiet = words.count > 2 && words.last == "noreply";
  SetKey(words[1], arena, command);
  const bool has_time = words.count > (command->quiet ? 3u : 2u);
  const bool has_more = words.count > (command->quiet ? 4u : 3u);
  if (has_more || (has_time && words[2] != "0")) SetError(Error::kDeleteUsage, command);
}

void ParseFlushAll(const FirstWords& words, Command* command) {
  command->verb = Verb::kFlushAll;
  command->quiet = words.count > 1 && words.last == "noreply";
  const bool has_delay = words.count > (command->quiet ? 2u : 1u);
  if (has_delay && !ParseExptime(words[1], &command->exptime)) {
    SetError(Error::kBadExptime, command);
  }
}

/// Parses verbosity and cache_memlimit, which take a number and have no effect.
void ParseVerbosity(const FirstWords& words, Command* command) {
  command->verb = Verb::kVerbosity;
  command->quiet = words.count > 1 && words.last == "noreply";
  uint32_t level = 0;
  if (words.count < 2 || !ParseUnsigned32(words[1], &level)) {
    SetError(Error::kBadFormat, command);
  }
}

/// Names the connection, for operators: `client_name [<name> [noreply]]`.
void ParseClientName(const FirstWords& words, Command* command) {
  command->verb = Verb::kClientName;
  if (words.count < 2) return;
  command->quiet = words.count > 2 && words.last == "noreply";
  if (!model::IsClientName(words[1])) return SetError(Error::kBadFormat, command);
  command->client_name = words[1];
}

/// Administers slabs, which do not exist here. One of memcached's tests asks for the answer to
/// `slabs automove invalid`.
void ParseSlabs(const FirstWords& words, Command* command) {
  uint32_t number = 0;
  const bool bad =
      words.count == 3 && words[1] == "automove" && !ParseUnsigned32(words[2], &number);
  SetError(bad ? Error::kBadFormat : Error::kError, command);
}

void ParseQuit(Command* command) {
  command->verb = Verb::kQuit;
  command->quiet = true;
  command->closes = true;
}

/// Returns false when the verb is not a storing verb.
bool ParseStoring(const FirstWords& words, base::Arena& arena, Command* command, DataBlock* data) {
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
    if (words[0] != name.name) continue;
    ParseStore(words, name.verb, name.with_cas, arena, command, data);
    return true;
  }
  return false;
}

/// Returns false when there is no such verb.
bool ParseOther(std::string_view rest, const FirstWords& words, base::Arena& arena,
                Command* command) {
  const std::string_view verb = words[0];
  if (verb == "delete") {
    ParseDelete(words, arena, command);
  } else if (verb == "incr") {
    ParseWithArgument(words, Verb::kIncrement, arena, command);
  } else if (verb == "decr") {
    ParseWithArgument(words, Verb::kDecrement, arena, command);
  } else if (verb == "touch") {
    ParseWithArgument(words, Verb::kTouch, arena, command);
  } else if (verb == "gat" || verb == "gats") {
    ParseGat(rest, verb.size() == 4, arena, command);
  } else if (verb == "stats") {
    command->verb = Verb::kStats;
    const size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
    command->stats_arguments = rest.substr(begin, rest.find_last_not_of(' ') + 1 - begin);
  } else if (verb == "version") {
    command->verb = Verb::kVersion;
  } else if (verb == "flush_all") {
    ParseFlushAll(words, command);
  } else if (verb == "verbosity" || verb == "cache_memlimit") {
    ParseVerbosity(words, command);
  } else if (verb == "quit") {
    ParseQuit(command);
  } else if (verb == "client_name") {
    ParseClientName(words, command);
  } else if (verb == "slabs") {
    ParseSlabs(words, command);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string_view Command::stats_word(size_t number) const {
  std::string_view rest = stats_arguments;
  std::string_view word = NextWord(&rest);
  while (number-- > 0) word = NextWord(&rest);
  return word;
}

FirstWords::FirstWords(std::string_view line) {
  for (std::string_view word = NextWord(&line); !word.empty(); word = NextWord(&line)) {
    if (count < kKeptMax) first[count] = word;
    last = word;
    ++count;
  }
}

void SetKey(std::string_view key, base::Arena& arena, Command* command) {
  if (key.size() > model::kMemcachedKeyBytesMax) return SetError(Error::kBadFormat, command);
  const std::span<std::string_view> keys = arena.Allocate<std::string_view>(1);
  keys.front() = key;
  command->keys = keys;
}

void SetDataBlock(std::string_view word, Command* command, DataBlock* data) {
  uint64_t bytes = 0;
  if (!ParseUnsigned(word, &bytes) || bytes > kDataBlockBytesMax) {
    return SetError(Error::kBadFormat, command);
  }
  *data = {true, bytes};
}

bool ParseLine(std::string_view line, base::Arena& arena, Command* command, DataBlock* data) {
  *command = Command();
  *data = DataBlock();
  std::string_view rest = line;
  const std::string_view verb = NextWord(&rest);
  if (verb == "get" || verb == "gets") {
    // get has its own parser, because it may have any number of words, and must be fast.
    ParseGet(rest, verb.size() == 4, arena, command);
    return true;
  }
  if (line.size() < 2) {
    // The error is that of memcached 1.6.45, whose verbs have at least two letters.
    command->error = Error::kBadFormat;
    return true;
  }
  const FirstWords words(line);
  if (verb.starts_with('m') && ParseMeta(words, arena, command, data)) return true;
  if (ParseStoring(words, arena, command, data)) return true;
  if (ParseOther(rest, words, arena, command)) return true;
  if (words.count > 1 && words.last.starts_with("HTTP/")) return false;
  command->error = Error::kError;
  return true;
}

}  // namespace rowsocket::memcached
