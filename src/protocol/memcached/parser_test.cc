#include "protocol/memcached/parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_guarded_bytes.h"
#include "protocol/memcached/test_line.h"

namespace rowsocket::memcached {
namespace {

using Dumps = std::vector<std::string>;

const std::string kLongestKey(250, 'k');
const std::string kTooLongKey(251, 'k');
const std::string kLongestName(model::kNameBytesMax, 'n');

Fed FeedAll(std::string_view bytes, const model::Limits& limits = {}) {
  return Feed(bytes, bytes.size(), limits, false, [&](auto input, const Step& step, auto& command) {
    EXPECT_LE(step.consumed, input.size());
    EXPECT_EQ(CheckCommand(input, limits, command), "");
  });
}

Dumps Parsed(std::string_view bytes) { return FeedAll(bytes).commands; }

TEST(TextParser, CommandsWithoutData) {
  const LineCase kCases[] = {
      {"get a", "text get \"a\" value?"},
      {"get a bc  d ", "text get \"a\" \"bc\" \"d\" value?"},
      {" get a", "text get \"a\" value?"},
      {"gets a", "text get \"a\" cas? value?"},
      {"gat 10 a b", "text gat \"a\" \"b\" value? exptime=10"},
      {"gats -1 a", "text gat \"a\" cas? value? exptime=-1"},
      {"touch a 99999999999", "text touch \"a\" exptime=99999999999"},
      {"touch a 4294967295", "text touch \"a\" exptime=-1"},
      {"touch a 4292375296", "text touch \"a\" exptime=-2592000"},
      {"touch a 4292375295", "text touch \"a\" exptime=4292375295"},
      {"touch a 4294967296", "text touch \"a\" exptime=4294967296"},
      {"gat 4294967295 a", "text gat \"a\" value? exptime=-1"},
      {"flush_all 4294967294", "text flush_all exptime=-2"},
      {"touch a 0 noreply", "text touch \"a\" quiet"},
      {"delete a", "text delete \"a\""},
      {"delete a 0", "text delete \"a\""},
      {"delete a noreply", "text delete \"a\" quiet"},
      {"delete a 0 noreply", "text delete \"a\" quiet"},
      {"incr a 18446744073709551615", "text increment \"a\" delta=18446744073709551615"},
      {"decr a 1 noreply", "text decrement \"a\" quiet delta=1"},
      {"flush_all", "text flush_all"},
      {"flush_all 5", "text flush_all exptime=5"},
      {"flush_all noreply", "text flush_all quiet"},
      {"flush_all 5 noreply", "text flush_all quiet exptime=5"},
      {"verbosity 1", "text verbosity"},
      {"client_name web-3", "text client_name client_name=\"web-3\""},
      {"client_name web-3 noreply", "text client_name quiet client_name=\"web-3\""},
      {"client_name noreply", "text client_name client_name=\"noreply\""},
      {"client_name", "text client_name"},
      {"client_name " + kLongestName, "text client_name client_name=\"" + kLongestName + "\""},
      {"version", "text version"},
      {"stats", "text stats"},
      {"stats  detail on ", "text stats arguments=\"detail on\""},
      {"quit", "text quit quiet closes"},
      {"get " + kLongestKey, "text get \"" + kLongestKey + "\" value?"},
      {"get a\tb", "text get \"a\\x09b\" value?"},
      {"get \xff", "text get \"\\xff\" value?"},
      {"mn", "meta noop"},
      {"me a", "meta debug \"a\""},
      {"me YWI= b", "meta debug \"ab\" key_text=\"YWI=\" base64"},
  };
  for (const LineCase& test : kCases) EXPECT_EQ(ParsedLine(test.line), test.command) << test.line;
}

TEST(TextParser, WrongLines) {
  const std::string kError = " !\"ERROR\"";
  const std::string kFormat = " !\"CLIENT_ERROR bad command line format\"";
  const std::string kExptime = " !\"CLIENT_ERROR invalid exptime argument\"";
  const std::string kDelta = " !\"CLIENT_ERROR invalid numeric delta argument\"";
  const std::string kUsage =
      " !\"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\"";
  const LineCase kCases[] = {
      {"", "text none" + kFormat},
      {"    ", "text none" + kError},
      {"foo", "text none" + kError},
      {"GET a", "text none" + kError},
      {"getx a", "text none" + kError},
      {"mx a", "text none" + kError},
      {"shutdown", "text none" + kError},
      {"get", "text get value?" + kFormat},
      {"get a " + kTooLongKey, "text get value?" + kFormat},
      {"gat 10", "text gat value?" + kFormat},
      {"gat a b", "text gat value?" + kExptime},
      {"gat 9223372036854775808 b", "text gat value?" + kExptime},
      {"set a 0 0", "text set" + kFormat},
      {"set a 0 0 x", "text set" + kFormat},
      {"set a 0 0 -1", "text set" + kFormat},
      {"set a 0 0 2147483646", "text set" + kFormat},
      {"set a 0 0 99999999999999999999 noreply", "text set" + kFormat},
      {"touch a", "text touch" + kFormat},
      {"touch a x", "text touch \"a\"" + kExptime},
      {"touch a x noreply", "text touch \"a\" quiet" + kExptime},
      {"touch " + kTooLongKey + " 0", "text touch" + kFormat},
      {"delete", "text delete" + kFormat},
      {"delete a 5", "text delete \"a\"" + kUsage},
      {"delete a 5 noreply", "text delete \"a\" quiet" + kUsage},
      {"delete a 0 x", "text delete \"a\"" + kUsage},
      {"delete a 0 0 0", "text delete" + kError},
      {"incr a", "text increment" + kFormat},
      {"incr a -1", "text increment \"a\"" + kDelta},
      {"incr a 18446744073709551616", "text increment \"a\"" + kDelta},
      {"incr a x noreply", "text increment \"a\" quiet" + kDelta},
      {"flush_all x", "text flush_all" + kExptime},
      {"verbosity", "text verbosity" + kFormat},
      {"verbosity high", "text verbosity" + kFormat},
      {"slabs automove invalid", "text none" + kFormat},
      {"slabs", "text none" + kError},
      {"client_name w\xc3\xa9", "text client_name" + kFormat},
      {"client_name a\tb", "text client_name" + kFormat},
      {"client_name a\x7f noreply", "text client_name quiet" + kFormat},
      {"client_name " + kLongestName + "n", "text client_name" + kFormat},
  };
  for (const LineCase& test : kCases) EXPECT_EQ(ParsedLine(test.line), test.command) << test.line;
}

TEST(TextParser, CommandsWithData) {
  EXPECT_EQ(Parsed("set a 5 10 3\r\nx\r\n\r\nadd b 4294967295 -1 0\n\r\n"),
            (Dumps{"text set \"a\" value=\"x\\x0d\\x0a\" flags=5 exptime=10",
                   "text add \"b\" flags=4294967295 exptime=-1"}));
  EXPECT_EQ(
      Parsed("replace a 0 0 1 noreply\r\nx\r\nappend a 0 0 1\r\ny\r\nprepend a 0 0 1\r\nz\r\n"),
      (Dumps{"text replace \"a\" quiet value=\"x\"", "text append \"a\" value=\"y\"",
             "text prepend \"a\" value=\"z\""}));
  EXPECT_EQ(Parsed("cas a 0 0 1 18446744073709551615\r\nx\r\ncas a 0 0 1 0 noreply\r\nx\r\n"),
            (Dumps{"text set \"a\" value=\"x\" cas=18446744073709551615",
                   "text set \"a\" quiet value=\"x\" cas=0"}));
}

TEST(TextParser, ADataBlockOfAWrongCommandIsSwallowed) {
  const std::string kFormat = " !\"CLIENT_ERROR bad command line format\"";
  const std::pair<std::string, std::string> kCases[] = {
      {"set a x 0 4\r\nmn\r\n\r\n", "text set \"a\"" + kFormat},
      {"set a 18446744073709551616 0 4\r\nmn\r\n\r\n", "text set \"a\"" + kFormat},
      {"set a 0 x 4 noreply\r\nmn\r\n\r\n", "text set \"a\" quiet" + kFormat},
      {"set " + kTooLongKey + " 0 0 4\r\nmn\r\n\r\n", "text set" + kFormat},
      {"cas a 0 0 4\r\nmn\r\n\r\n", "text set \"a\" cas=0" + kFormat},
      {"cas a 0 0 4 x\r\nmn\r\n\r\n", "text set \"a\" cas=0" + kFormat},
      {"ms a 4 MX\r\nmn\r\n\r\n", "meta set \"a\" !\"CLIENT_ERROR invalid mode for ms M token\""},
      {"ms " + kTooLongKey + " 4\r\nmn\r\n\r\n",
       "meta set key_text=\"" + kTooLongKey + "\"" + kFormat},
  };
  for (const auto& [bytes, command] : kCases) {
    EXPECT_EQ(Parsed(bytes + "mn\r\n"), (Dumps{command, "meta noop"})) << bytes;
  }
}

// As in memcached, the announced bytes and their end are taken; the bytes after them are the next
// line.
TEST(TextParser, ADataBlockThatDoesNotEnd) {
  const std::string kChunk = "text set \"a\" value=\"x\" !\"CLIENT_ERROR bad data chunk\"";
  const std::string kFormat = "text none !\"CLIENT_ERROR bad command line format\"";
  EXPECT_EQ(Parsed("set a 0 0 1\r\nxy\r\nmn\r\n"), (Dumps{kChunk, kFormat, "meta noop"}));
  EXPECT_EQ(Parsed("set a 0 0 1\r\nx\nget a\r\nmn\r\n"),
            (Dumps{kChunk, "text none !\"ERROR\"", "meta noop"}));
}

// A login, which the parser does not read, may begin after the data, and is then taken off the
// input.
TEST(TextParser, WhatIsSwallowedIsNotSwallowedAgain) {
  Parser parser;
  base::Arena arena;
  Command command;
  const model::Limits limits;
  const std::string large = "set a 0 0 2000000\r\n";
  ASSERT_EQ(ParseResult::kCommand, parser.Next(large, limits, arena, &command).result);
  const std::string rest(2'000'002, 'x');
  ASSERT_EQ(rest.size(), parser.Next(rest, limits, arena, &command).consumed);
  parser.Rewind();
  const std::string get = "get a\r\n";
  const Step step = parser.Next(get, limits, arena, &command);
  EXPECT_EQ(ParseResult::kCommand, step.result);
  EXPECT_EQ(get.size(), step.consumed);
}

TEST(TextParser, AValueOverTheLimitIsSwallowedAndNotKept) {
  model::Limits limits;
  limits.item_bytes_max = 10;
  const std::string value(11, 'v');
  const std::string bytes =
      "set a 0 0 11\r\n" + value + "\r\nset a 0 0 10\r\n" + value.substr(1) + "\r\n";
  EXPECT_EQ(FeedAll(bytes, limits).commands,
            (Dumps{"text set \"a\" !\"SERVER_ERROR object too large for cache\"",
                   "text set \"a\" value=\"vvvvvvvvvv\""}));
  // The line announces two gigabytes, and the parser keeps none of the bytes that come.
  const Fed fed = FeedAll("set a 0 0 2147483645\r\n" + std::string(100'000, 'v'), limits);
  EXPECT_EQ(fed.commands.size(), 1u);
  EXPECT_EQ(fed.pending_bytes, 0u);
}

TEST(TextParser, AnotherProtocolClosesTheConnection) {
  const std::string kMore(model::kMemcachedLineBytesMax + 1, 'x');
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string("DELETE HTTP/1.1\r\n"), kMore,
        "set " + kMore, std::string(101, ' ') + "get " + kMore}) {
    const Fed fed = FeedAll(bytes);
    EXPECT_EQ(fed.commands, Dumps{"malformed"}) << bytes.substr(0, 40);
    EXPECT_TRUE(fed.closed);
    EXPECT_EQ(fed.pending_bytes, 0u);
  }
  EXPECT_EQ(FeedAll(std::string(model::kMemcachedLineBytesMax, 'x')).commands, Dumps());
}

TEST(TextParser, AMultiGetMayBeLong) {
  std::string line = "get";
  for (int i = 0; i < 10'000; ++i) line += " key" + std::to_string(i);
  model::Limits limits;
  base::Arena arena;
  Parser parser;
  Command command;
  EXPECT_EQ(parser.Next(line, limits, arena, &command).result, ParseResult::kNeedMore);
  line += "\r\n";
  const Step step = parser.Next(line, limits, arena, &command);
  EXPECT_EQ(step.consumed, line.size());
  ASSERT_EQ(command.keys.size(), 10'000u);
  EXPECT_EQ(command.keys.back(), "key9999");

  std::string keys;
  for (size_t i = 0; i <= model::kMemcachedKeysMax; ++i) keys += " k";
  EXPECT_EQ(FeedAll("get" + keys + "\r\nmn\r\n").commands,
            (Dumps{"text get value? !\"CLIENT_ERROR line too long\"", "meta noop"}));

  const std::string more(model::kMemcachedLongLineBytesMax + 1, 'k');
  for (const std::string& endless : {"gets " + more, "gets " + more + "\n"}) {
    const Fed fed = FeedAll(endless);
    EXPECT_EQ(fed.commands, Dumps{"text none closes !\"CLIENT_ERROR line too long\""});
    EXPECT_EQ(fed.pending_bytes, 0u);
  }
}

TEST(TextParser, NothingFollowsQuit) {
  const Fed fed = FeedAll("mn\r\nquit\r\nmn\r\n");
  EXPECT_EQ(fed.commands, (Dumps{"meta noop", "text quit quiet closes"}));
  EXPECT_EQ(fed.pending_bytes, 0u);
}

const char kSession[] =
    "set a 5 0 3\r\nabc\r\nget a b\r\ncas a 0 0 1 7 noreply\r\nx\r\nincr a 1\r\n"
    "ms a 4 c q\r\nmn\r\n\r\nmg YWI= b k Ox\r\nset a 0 0 11\r\nhello world\r\n"
    "set a z 0 3\r\nabc\r\nfoo\r\n\r\nstats\r\nms a 5 z\r\nabcde\r\nma a MD D5 G3\r\n"
    "flush_all\r\nquit\r\n";

TEST(TextParser, PiecesMakeNoDifference) {
  model::Limits limits;
  limits.item_bytes_max = 10;
  const Fed whole = FeedAll(kSession, limits);
  EXPECT_EQ(whole.commands.size(), 15u);
  for (size_t piece_bytes = 1; piece_bytes < 30; ++piece_bytes) {
    for (const bool rewinds : {false, true}) {
      const Fed fed = Feed(kSession, piece_bytes, limits, rewinds, [](auto...) {});
      EXPECT_EQ(fed.commands, whole.commands) << piece_bytes << rewinds;
      EXPECT_EQ(fed.pending_bytes, 0u);
    }
  }
}

// Cut anywhere, the bytes make the same commands as far as the bytes go, and the parser reads
// nothing past their end.
TEST(TextParser, EveryTruncationPoint) {
  const std::string_view session(kSession, sizeof(kSession) - 1);
  const Dumps all = Parsed(session);
  base::GuardedBytes guarded(session.size());
  for (size_t size = 0; size <= session.size(); ++size) {
    std::string_view rest = guarded.Place(session.substr(0, size));
    Parser parser;
    model::Limits limits;
    Dumps commands;
    for (;;) {
      base::Arena arena;
      Command command;
      const Step step = parser.Next(rest, limits, arena, &command);
      rest.remove_prefix(step.consumed);
      if (step.result == ParseResult::kNeedMore) break;
      commands.push_back(Dump(command));
      if (command.closes) break;
    }
    ASSERT_LE(commands.size(), all.size());
    EXPECT_EQ(commands, Dumps(all.begin(), all.begin() + static_cast<long>(commands.size())));
  }
}

// The parser never searches a byte twice.
TEST(TextParser, LooksAtEachByteOfALineOnce) {
  Parser parser;
  base::Arena arena;
  Command command;
  std::string input = "get abcd";
  EXPECT_EQ(parser.Next(input, {}, arena, &command).result, ParseResult::kNeedMore);
  input[5] = '\n';
  input += "e\n";
  EXPECT_EQ(parser.Next(input, {}, arena, &command).consumed, input.size());
}

TEST(TextParser, WaitsForADataBlockWithoutMemory) {
  Parser parser;
  base::Arena arena;
  Command command;
  std::string input = "set a 0 0 1000\r\n";
  parser.Next(input, {}, arena, &command);
  const size_t allocated = arena.allocated_bytes();
  for (int i = 0; i < 1001; ++i) {
    input += 'v';
    EXPECT_EQ(parser.Next(input, {}, arena, &command).result, ParseResult::kNeedMore);
  }
  EXPECT_EQ(arena.allocated_bytes(), allocated);
  input.back() = '\r';
  input += '\n';
  EXPECT_EQ(parser.Next(input, {}, arena, &command).consumed, input.size());
}

TEST(Parser, TheFirstByteChoosesTheDialect) {
  Parser parser;
  base::Arena arena;
  Command command;
  EXPECT_FALSE(parser.is_binary());
  parser.Next("mn\r\n", {}, arena, &command);
  EXPECT_FALSE(parser.is_binary());
  // Once the dialect is text, 0x80 does not begin a binary packet any more.
  EXPECT_EQ(parser.Next("\x80\r\n", {}, arena, &command).result, ParseResult::kCommand);
  EXPECT_EQ(command.dialect, Dialect::kText);
}

}  // namespace
}  // namespace rowsocket::memcached
