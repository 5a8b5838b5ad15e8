// The meta commands: `<verb> <key> [<bytes>] <flag>*`, where a flag is a letter, with an argument
// for some letters.
#include <bitset>

#include "protocol/memcached/base64.h"
#include "protocol/memcached/command_line.h"
#include "protocol/memcached/numbers.h"

namespace rowsocket::memcached {

namespace {

/// Carries out flag b. Returns false when the key is not base64.
bool DecodeKey(base::Arena& arena, Command* command) {
  command->meta.key_is_base64 = true;
  const std::optional<std::string_view> key = DecodeBase64(command->key(), arena);
  if (key) SetKey(*key, arena, command);
  return key.has_value();
}

/// Parses the flags of one command, in their order, which decides the error if two of them are
/// wrong.
class FlagParser {
 public:
  FlagParser(char verb, base::Arena& arena, Command* command)
      : verb_(verb), arena_(arena), command_(command) {}

  void Parse(const FirstWords& words, size_t first);

  /// M's letter, or 0 without M; a blank when M has no letter.
  char mode() const { return mode_; }

 private:
  /// Returns false when the rest of the flags is not parsed.
  bool ParseFlag(std::string_view flag);
  bool ParseNumberFlag(char letter, std::string_view argument);
  void ParseInteger(std::string_view argument, uint64_t* number, Error error);
  void ParseTime(std::string_view argument, int64_t* exptime);
  void KeepPlace(char letter, uint8_t at);
  /// Whether the reply to this verb has the answer to a letter.
  bool IsReturned(char letter) const;
  /// Sets the error. A later error replaces an earlier error, as in memcached.
  void Fail(Error error) { command_->error = error; }

  const char verb_;
  base::Arena& arena_;
  Command* const command_;
  std::bitset<128> seen_;
  char mode_ = '\0';
};

bool FlagParser::IsReturned(char letter) const {
  std::string_view letters;
  switch (verb_) {
    case 'g':
      letters = "cfhklOst";
      break;
    case 's':
      letters = "ckOs";
      break;
    case 'a':
      letters = "ckOt";
      break;
    default:
      letters = "kO";
      break;
  }
  return letters.find(letter) != std::string_view::npos;
}

void FlagParser::Parse(const FirstWords& words, size_t first) {
  char* const returns = arena_.AllocateBytes(FirstWords::kKeptMax);
  size_t returned = 0;
  for (size_t i = first; i < words.count; ++i) {
    const char letter = words[i].front();
    if (!ParseFlag(words[i])) return;
    KeepPlace(letter, static_cast<uint8_t>(i));
    if (IsReturned(letter)) returns[returned++] = letter;
  }
  command_->meta.returns = {returns, returned};
  const bool too_long = command_->meta.opaque.size() + 1 > model::kMetaOpaqueBytesMax;
  if (command_->error == Error::kNone && too_long) Fail(Error::kOpaqueTooLong);
}

void FlagParser::KeepPlace(char letter, uint8_t at) {
  MetaFlags& meta = command_->meta;
  if (letter == 'T') meta.exptime_at = at;
  if (letter == 'N') meta.create_at = at;
  if (letter == 'R') meta.recache_at = at;
  if (letter == 't') meta.ttl_at = at;
}

void FlagParser::ParseInteger(std::string_view argument, uint64_t* number, Error error) {
  if (!ParseUnsigned(argument, number)) Fail(error);
}

void FlagParser::ParseTime(std::string_view argument, int64_t* exptime) {
  if (!ParseExptime(argument, exptime)) Fail(Error::kBadFlagToken);
}

bool FlagParser::ParseFlag(std::string_view flag) {
  const auto letter = static_cast<unsigned char>(flag.front());
  if (letter >= 127 || seen_.test(letter)) {
    Fail(Error::kDuplicateFlag);
    return false;
  }
  seen_.set(letter);
  MetaFlags& meta = command_->meta;
  switch (letter) {
    case 'b':
      if (!DecodeKey(arena_, command_)) Fail(Error::kBadKeyEncoding);
      return true;
    case 'v':
      command_->returns_value = true;
      return true;
    case 'q':
      command_->quiet = true;
      return true;
    case 'k':
      command_->returns_key = true;
      return true;
    case 'c':
      command_->returns_cas = true;
      return true;
    case 'u':
      meta.no_update = true;
      return true;
    case 'I':
      meta.invalidates = true;
      return true;
    case 'x':
      meta.removes_value = true;
      return true;
    case 'O':
      meta.opaque = flag.substr(1);
      return true;
    case 'M':
      mode_ = flag.size() > 1 ? flag[1] : ' ';
      return true;
    case 'f':
    case 'h':
    case 'l':
    case 's':
    case 't':
    case 'P':  // flags for proxies: ignored
    case 'L':
      return true;
    default:
      return ParseNumberFlag(flag.front(), flag.substr(1));
  }
}

bool FlagParser::ParseNumberFlag(char letter, std::string_view argument) {
  MetaFlags& meta = command_->meta;
  switch (letter) {
    case 'T':
      meta.has_exptime = true;
      ParseTime(argument, &command_->exptime);
      return true;
    case 'N':
      command_->creates = true;
      ParseTime(argument, &command_->create_exptime);
      return true;
    case 'R':
      meta.has_recache = true;
      if (!ParseSigned(argument, &meta.recache_s)) Fail(Error::kBadFlagToken);
      return true;
    case 'F':
      if (!ParseClientFlags(argument, &command_->client_flags)) Fail(Error::kBadFormat);
      return true;
    case 'C':
      command_->compares_cas = true;
      ParseInteger(argument, &command_->cas, Error::kBadFlagToken);
      return true;
    case 'E':
      meta.has_new_cas = true;
      ParseInteger(argument, &meta.new_cas, Error::kBadFlagToken);
      return true;
    case 'D':
      ParseInteger(argument, &command_->delta, Error::kBadFlagDelta);
      return true;
    case 'J':
      ParseInteger(argument, &command_->initial, Error::kBadFlagInitial);
      return true;
    case 'G':
      if (verb_ == 'a') {
        meta.has_guard = true;
        ParseInteger(argument, &meta.guard, Error::kBadFlagToken);
        return true;
      }
      [[fallthrough]];
    default:
      Fail(Error::kInvalidFlag);
      return false;
  }
}

/// Turns ms into the verb that the mode of M asks for.
void SetStoreVerb(char mode, Command* command) {
  switch (mode) {
    case '\0':
    case 'S':
      break;
    case 'R':
      // With a cas, kSet does the same, because it needs an item to compare with.
      if (!command->compares_cas) command->verb = Verb::kReplace;
      break;
    case 'E':
      command->verb = Verb::kAdd;
      command->compares_cas = false;
      break;
    case 'A':
    case 'P':
      command->verb = mode == 'A' ? Verb::kAppend : Verb::kPrepend;
      command->compares_cas = command->compares_cas && command->cas != 0;
      break;
    default:
      command->error = Error::kBadSetMode;
  }
}

/// Turns ma into the verb that the mode of M asks for.
void SetArithmeticVerb(char mode, Command* command) {
  switch (mode) {
    case '\0':
    case 'I':
    case '+':
      break;
    case 'D':
    case '-':
      command->verb = Verb::kDecrement;
      break;
    default:
      command->error = Error::kBadArithmeticMode;
  }
  command->compares_cas = command->compares_cas && command->cas != 0;
}

void SetVerb(char verb, Command* command) {
  switch (verb) {
    case 'g':
      command->verb = Verb::kGet;
      break;
    case 's':
      command->verb = Verb::kSet;
      break;
    case 'd':
      command->verb = Verb::kDelete;
      break;
    case 'a':
      command->verb = Verb::kIncrement;
      command->delta = 1;
      break;
    default:
      command->verb = Verb::kMetaDebug;
      break;
  }
}

/// Completes the command: its verb depends on all its flags, and ma answers most wrong flags with
/// one error.
void Finish(char verb, char mode, Command* command) {
  if (command->error != Error::kNone) {
    if (verb == 'a' && command->error != Error::kOpaqueTooLong) {
      command->error = Error::kInvalidOrDuplicateFlag;
    }
    return;
  }
  if (verb == 'g' && command->meta.has_exptime) command->verb = Verb::kGat;
  if (verb == 's') SetStoreVerb(mode, command);
  if (verb == 'a') SetArithmeticVerb(mode, command);
}

}  // namespace

bool ParseMeta(const FirstWords& words, base::Arena& arena, Command* command, DataBlock* data) {
  if (words[0].size() != 2) return false;
  const char verb = words[0][1];
  if (std::string_view("ngsdae").find(verb) == std::string_view::npos) return false;
  command->dialect = Dialect::kMeta;
  if (verb == 'n') {
    command->verb = Verb::kNoop;
    return true;
  }
  SetVerb(verb, command);
  const size_t first_flag = verb == 's' ? 3 : 2;
  if (words.count < first_flag) {
    command->error = Error::kBadFormat;
    return true;
  }
  if (verb == 's') {
    SetDataBlock(words[2], command, data);
    if (!data->follows) return true;
  }
  SetKey(words[1], arena, command);
  command->key_text = words[1];
  if (command->error != Error::kNone) return true;
  if (words.count > FirstWords::kKeptMax) {
    command->error = Error::kTooManyFlags;
    return true;
  }
  if (verb == 'e') {
    // Only the flag b has a meaning for the command `me`; memcached accepts all others silently.
    const bool encoded = words.count > 2 && words[2] == "b";
    if (encoded && !DecodeKey(arena, command)) command->error = Error::kBadFormat;
    return true;
  }
  FlagParser flags(verb, arena, command);
  flags.Parse(words, first_flag);
  Finish(verb, flags.mode(), command);
  return true;
}

}  // namespace rowsocket::memcached
