#include "protocol/memcached/binary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_guarded_bytes.h"
#include "protocol/memcached/test_feed.h"
#include "protocol/memcached/test_packets.h"

namespace rowsocket::memcached {
namespace {

using Dumps = std::vector<std::string>;

const std::string kOpaque = " opaque=16909060";
const std::string kStoreExtras = BigEndian(uint32_t{5}) + BigEndian(uint32_t{60});
const std::string kCountExtras =
    BigEndian(uint64_t{2}) + BigEndian(uint64_t{10}) + BigEndian(uint32_t{30});
const std::string kCountOnlyExtras =
    BigEndian(uint64_t{2}) + BigEndian(uint64_t{10}) + BigEndian(uint32_t{0xffffffff});
const std::string kTouchExtras = BigEndian(uint32_t{0xffffffff});

Fed FeedAll(const std::string& bytes, const model::Limits& limits = {}) {
  return Feed(bytes, bytes.size(), limits, false, [&](auto input, auto&, auto& command) {
    EXPECT_EQ(CheckCommand(input, limits, command), "");
  });
}

/// The command that a packet makes; a noop after the packet must make a command, too.
std::string ParsedPacket(const Packet& packet) {
  const Fed fed = FeedAll(packet.Bytes() + Packet{.opcode = 0x0a}.Bytes());
  EXPECT_EQ(fed.pending_bytes, 0u);
  if (fed.closed) {
    EXPECT_EQ(fed.commands.size(), 1u);
  } else {
    EXPECT_EQ(fed.commands.size(), 2u);
    EXPECT_EQ(fed.commands.back(), "binary noop opcode=10" + kOpaque);
  }
  return fed.commands.front();
}

TEST(Binary, EveryOpcode) {
  const std::pair<Packet, std::string> kCases[] = {
      {{.opcode = 0x00, .key = "k"}, "get \"k\" value?"},
      {{.opcode = 0x09, .key = "k"}, "get \"k\" quiet value?"},
      {{.opcode = 0x0c, .key = "k"}, "get \"k\" key? value?"},
      {{.opcode = 0x0d, .key = "k"}, "get \"k\" quiet key? value?"},
      {{.opcode = 0x01, .key = "k", .extras = kStoreExtras, .value = "v"},
       "set \"k\" value=\"v\" flags=5 exptime=60"},
      {{.opcode = 0x11, .key = "k", .extras = kStoreExtras}, "set \"k\" quiet flags=5 exptime=60"},
      {{.opcode = 0x01, .key = "k", .extras = kStoreExtras, .value = "v", .cas = 9},
       "set \"k\" value=\"v\" flags=5 exptime=60 cas=9"},
      {{.opcode = 0x02, .key = "k", .extras = kStoreExtras, .value = "v"},
       "add \"k\" value=\"v\" flags=5 exptime=60"},
      {{.opcode = 0x12, .key = "k", .extras = kStoreExtras, .value = "v", .cas = 9},
       "set \"k\" quiet value=\"v\" flags=5 exptime=60 cas=9"},
      {{.opcode = 0x03, .key = "k", .extras = kStoreExtras, .value = "v"},
       "replace \"k\" value=\"v\" flags=5 exptime=60"},
      {{.opcode = 0x13, .key = "k", .extras = kStoreExtras, .value = "v", .cas = 9},
       "set \"k\" quiet value=\"v\" flags=5 exptime=60 cas=9"},
      {{.opcode = 0x0e, .key = "k", .value = "v"}, "append \"k\" value=\"v\""},
      {{.opcode = 0x19, .key = "k", .value = "v", .cas = 9},
       "append \"k\" quiet value=\"v\" cas=9"},
      {{.opcode = 0x0f, .key = "k", .value = "v"}, "prepend \"k\" value=\"v\""},
      {{.opcode = 0x1a, .key = "k", .value = "v"}, "prepend \"k\" quiet value=\"v\""},
      {{.opcode = 0x04, .key = "k", .cas = 9}, "delete \"k\" cas=9"},
      {{.opcode = 0x14, .key = "k"}, "delete \"k\" quiet"},
      {{.opcode = 0x05, .key = "k", .extras = kCountExtras},
       "increment \"k\" create=30 delta=2 initial=10"},
      {{.opcode = 0x15, .key = "k", .extras = kCountOnlyExtras},
       "increment \"k\" quiet delta=2 initial=10"},
      {{.opcode = 0x06, .key = "k", .extras = kCountOnlyExtras, .cas = 1},
       "decrement \"k\" cas=1 delta=2 initial=10"},
      {{.opcode = 0x16, .key = "k", .extras = kCountExtras},
       "decrement \"k\" quiet create=30 delta=2 initial=10"},
      {{.opcode = 0x1c, .key = "k", .extras = kTouchExtras}, "touch \"k\" exptime=4294967295"},
      {{.opcode = 0x1d, .key = "k", .extras = kTouchExtras}, "gat \"k\" value? exptime=4294967295"},
      {{.opcode = 0x1e, .key = "k", .extras = kTouchExtras},
       "gat \"k\" quiet value? exptime=4294967295"},
      {{.opcode = 0x23, .key = "k", .extras = kTouchExtras},
       "gat \"k\" key? value? exptime=4294967295"},
      {{.opcode = 0x24, .key = "k", .extras = kTouchExtras},
       "gat \"k\" quiet key? value? exptime=4294967295"},
      {{.opcode = 0x08}, "flush_all"},
      {{.opcode = 0x18, .extras = BigEndian(uint32_t{7})}, "flush_all quiet exptime=7"},
      {{.opcode = 0x0b}, "version"},
      {{.opcode = 0x10}, "stats"},
      {{.opcode = 0x10, .key = "detail on"}, "stats arguments=\"detail on\""},
      {{.opcode = 0x1f, .key = "web-3", .value = std::string("\x00\x03", 2)},
       "client_name value=\"\\x00\\x03\" client_name=\"web-3\""},
      {{.opcode = 0x1f}, "client_name"},
      {{.opcode = 0x07}, "quit closes"},
      {{.opcode = 0x17}, "quit quiet closes"},
  };
  for (const auto& [packet, command] : kCases) {
    const std::string dump = ParsedPacket(packet);
    const std::string ending =
        (packet.opcode == 0 ? " opcode=0" : " opcode=" + std::to_string(packet.opcode)) + kOpaque;
    EXPECT_EQ(dump, "binary " + command + ending);
  }
}

TEST(Binary, AnUnknownOpcodeTakesItsBodyAlong) {
  for (const uint8_t opcode : {0x1b, 0x20, 0x21, 0x22, 0x40, 0x77, 0xff}) {
    const std::string dump =
        ParsedPacket({.opcode = opcode, .key = "key", .extras = "e", .value = "value"});
    EXPECT_TRUE(dump.ends_with("!\"Unknown command\"")) << dump;
    EXPECT_EQ(dump.find("closes"), std::string::npos);
  }
}

TEST(Binary, ANameThatMayNotBeLeavesTheConnectionOpen) {
  for (const std::string name : {"web 3", "web\x7f", "w\xc3\xa9"}) {
    const std::string dump = ParsedPacket({.opcode = 0x1f, .key = name});
    EXPECT_TRUE(dump.ends_with("!\"Invalid arguments\"")) << dump;
    EXPECT_EQ(dump.find("closes"), std::string::npos);
    EXPECT_EQ(dump.find("client_name="), std::string::npos);
  }
}

TEST(Binary, LengthsThatDoNotFitClose) {
  const std::string kMore = kStoreExtras + "x";
  const Packet kCases[] = {
      {.opcode = 0x00},
      {.opcode = 0x00, .key = "k", .extras = "1234"},
      {.opcode = 0x00, .key = "k", .value = "v"},
      {.opcode = 0x00, .key = std::string(251, 'k')},
      {.opcode = 0x77, .key = std::string(251, 'k')},
      {.opcode = 0x01, .key = "k", .value = "v"},
      {.opcode = 0x01, .key = "k", .extras = kMore},
      {.opcode = 0x01, .extras = kStoreExtras},
      {.opcode = 0x04, .key = "k", .value = "v"},
      {.opcode = 0x05, .key = "k", .extras = kStoreExtras},
      {.opcode = 0x08, .extras = "12345"},
      {.opcode = 0x08, .key = "k"},
      {.opcode = 0x0a, .value = "v"},
      {.opcode = 0x0e, .value = "v"},
      {.opcode = 0x10, .extras = "1234"},
      {.opcode = 0x1d, .key = "k", .extras = kTouchExtras, .value = "v"},
  };
  for (const Packet& packet : kCases) {
    const std::string dump = ParsedPacket(packet);
    EXPECT_TRUE(dump.ends_with("!\"Invalid arguments\"")) << dump;
    EXPECT_NE(dump.find(" closes"), std::string::npos);
  }
  std::string contradicts = Packet{.opcode = 0x00, .key = "kk"}.Bytes();
  contradicts[11] = 1;  // the body is shorter than the key in it
  const Fed fed = FeedAll(contradicts);
  EXPECT_TRUE(fed.closed);
  EXPECT_EQ(fed.commands, Dumps{"binary none closes opcode=0" + kOpaque + " !\"Unknown command\""});
}

TEST(Binary, AnotherMagicCloses) {
  const std::string noop = Packet{.opcode = 0x0a}.Bytes();
  const Fed fed = FeedAll(noop + Packet{.opcode = 0x0a, .magic = '\x81'}.Bytes() + noop);
  EXPECT_EQ(fed.commands, (Dumps{"binary noop opcode=10" + kOpaque, "malformed"}));
}

TEST(Binary, AValueOverTheLimitIsSwallowedAndNotKept) {
  model::Limits limits;
  limits.item_bytes_max = 10;
  const Packet most{.opcode = 1, .key = "k", .extras = kStoreExtras, .value = "0123456789"};
  Packet more = most;
  more.value += 'x';
  const Fed fed = FeedAll(more.Bytes() + most.Bytes(), limits);
  ASSERT_EQ(fed.commands.size(), 2u);
  EXPECT_EQ(fed.commands[0], "binary set \"k\" opcode=1" + kOpaque +
                                 " !\"SERVER_ERROR object too large for cache\"");
  EXPECT_EQ(fed.commands[1].find('!'), std::string::npos);
  // The header announces four gigabytes, and the parser keeps none of the bytes that come.
  std::string endless = more.Bytes();
  for (size_t i = 8; i < 12; ++i) endless[i] = '\xff';
  EXPECT_EQ(FeedAll(endless + std::string(100'000, 'v'), limits).pending_bytes, 0u);
}

TEST(Binary, PiecesAndTruncationMakeNoDifference) {
  const std::string session =
      Packet{.opcode = 1, .key = "k", .extras = kStoreExtras, .value = "v\r\n"}.Bytes() +
      Packet{.opcode = 0x77, .key = "k", .extras = "e", .value = "v"}.Bytes() +
      Packet{.opcode = 0x0d, .key = std::string(250, 'k')}.Bytes() +
      Packet{.opcode = 5, .key = "k", .extras = kCountExtras}.Bytes() + Packet{.opcode = 7}.Bytes();
  const Dumps all = FeedAll(session).commands;
  ASSERT_EQ(all.size(), 5u);
  for (size_t piece_bytes = 1; piece_bytes < 40; ++piece_bytes) {
    for (const bool rewinds : {false, true}) {
      EXPECT_EQ(Feed(session, piece_bytes, {}, rewinds, [](auto...) {}).commands, all);
    }
  }
  base::GuardedBytes guarded(session.size());
  for (size_t size = 0; size < session.size(); ++size) {
    std::string_view rest = guarded.Place(std::string_view(session).substr(0, size));
    Parser parser;
    Dumps commands;
    for (;;) {
      base::Arena arena;
      Command command;
      const Step step = parser.Next(rest, {}, arena, &command);
      rest.remove_prefix(step.consumed);
      if (step.result == ParseResult::kNeedMore) break;
      commands.push_back(Dump(command));
    }
    ASSERT_LT(commands.size(), all.size());
    EXPECT_EQ(commands, Dumps(all.begin(), all.begin() + static_cast<long>(commands.size())));
  }
}

}  // namespace
}  // namespace rowsocket::memcached
