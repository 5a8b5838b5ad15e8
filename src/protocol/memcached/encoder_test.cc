// Cases that the golden vectors do not have; vectors_test.cc compares all others with a real
// memcached.
#include "protocol/memcached/encoder.h"

#include <gtest/gtest.h>

#include <string>

#include "model/limits.h"
#include "protocol/memcached/parser.h"
#include "protocol/memcached/test_packets.h"
#include "protocol/memcached/test_store.h"

namespace rowsocket::memcached {
namespace {

/// The bytes that `append(command, out)` writes for the command in `bytes`.
template <typename Append>
std::string Reply(const std::string& bytes, Append&& append) {
  Parser parser;
  base::Arena arena;
  Command command;
  EXPECT_EQ(parser.Next(bytes, {}, arena, &command).result, ParseResult::kCommand) << bytes;
  base::Buffer out;
  append(command, &out);
  return std::string(out.view());
}

/// The answers of a store to several requests.
std::string Answers(std::string_view bytes) {
  const model::Limits limits;
  TestStore store(1'000'000, limits);
  Parser parser;
  base::Buffer out;
  while (!bytes.empty()) {
    base::Arena arena;
    Command command;
    const Step step = parser.Next(bytes, limits, arena, &command);
    if (step.result == ParseResult::kNeedMore) break;
    store.Execute(command, &out);
    bytes.remove_prefix(step.consumed);
  }
  return std::string(out.view());
}

constexpr uint64_t kMax = 18446744073709551615u;

TEST(Encoder, NumbersOfAllSizes) {
  Item item;
  item.value = "v";
  item.client_flags = 4294967295;
  item.cas = kMax;
  item.ttl_s = 99'999'999'999;
  item.last_access_s = 7;
  const auto hit = [&](const Command& command, base::Buffer* out) {
    AppendHit(command, "k", item, out);
  };
  EXPECT_EQ(Reply("gets k\r\n", hit), "VALUE k 4294967295 1 18446744073709551615\r\nv\r\n");
  EXPECT_EQ(Reply("get k\r\n", hit), "VALUE k 4294967295 1\r\nv\r\n");
  EXPECT_EQ(Reply("mg k c f t l h s O- k\r\n", hit),
            "HD c18446744073709551615 f4294967295 t99999999999 l7 h1 s1 O- kk\r\n");
  EXPECT_EQ(Reply(Packet{.opcode = 0x0c, .key = "k"}.Bytes(), hit),
            (Packet{.opcode = 0x0c,
                    .key = "k",
                    .extras = "\xff\xff\xff\xff",
                    .value = "v",
                    .cas = kMax,
                    .magic = '\x81'}
                 .Bytes()));
}

TEST(Encoder, TheSizeOfAValueThatIsNotReturned) {
  Item item;
  item.size = 1'000'000;
  EXPECT_EQ(
      Reply("mg k s\r\n", [&](auto& command, auto* out) { AppendHit(command, "k", item, out); }),
      "HD s1000000\r\n");
}

TEST(Encoder, AnEmptyValue) {
  const auto hit = [](const Command& command, base::Buffer* out) {
    AppendHit(command, "k", Item(), out);
  };
  EXPECT_EQ(Reply("get k\r\n", hit), "VALUE k 0 0\r\n\r\n");
  EXPECT_EQ(Reply("mg k v\r\n", hit), "VA 0\r\n\r\n");
}

TEST(Encoder, MarksTellWhichClientRenews) {
  Item item;
  item.won = item.stale = item.won_by_other = true;
  EXPECT_EQ(
      Reply("mg k t\r\n", [&](auto& command, auto* out) { AppendHit(command, "k", item, out); }),
      "HD t-1 Z X W\r\n");
  EXPECT_EQ(
      Reply("ms k 1\r\nv\r\n", [&](auto& command, auto* out) { AppendStored(command, item, out); }),
      "HD\r\n");
}

TEST(Encoder, ServerErrors) {
  const auto error = [](const Command& command, base::Buffer* out) {
    AppendServerError(command, BinaryStatus::kTemporaryFailure, "deadlock\r\nEND", out);
  };
  EXPECT_EQ(Reply("get k\r\n", error), "SERVER_ERROR deadlock\r\n");
  EXPECT_EQ(Reply("set k 0 0 1 noreply\r\nv\r\n", error), "");
  EXPECT_EQ(Reply("ms k 1 q\r\nv\r\n", error), "SERVER_ERROR deadlock\r\n");
  const Packet reply{.opcode = 0x09, .value = "deadlock", .status = 0x86, .magic = '\x81'};
  EXPECT_EQ(Reply(Packet{.opcode = 0x09, .key = "k"}.Bytes(), error), reply.Bytes());
  const std::string endless(10'000, 'e');
  const std::string cut = Reply("get k\r\n", [&](auto& command, auto* out) {
    AppendServerError(command, BinaryStatus::kInternalError, endless, out);
  });
  EXPECT_EQ(cut, "SERVER_ERROR " + std::string(model::kMemcachedErrorBytesMax, 'e') + "\r\n");
}

TEST(Encoder, Stats) {
  const auto stats = [](const Command& command, base::Buffer* out) {
    AppendStat(command, "hits", 5, out);
    AppendStat(command, "why", "a b", out);
    AppendStatsEnd(command, out);
  };
  EXPECT_EQ(Reply("stats\r\n", stats), "STAT hits 5\r\nSTAT why a b\r\nEND\r\n");
  const Packet hits{.opcode = 0x10, .key = "hits", .value = "5", .magic = '\x81'};
  const Packet why{.opcode = 0x10, .key = "why", .value = "a b", .magic = '\x81'};
  const Packet end{.opcode = 0x10, .magic = '\x81'};
  EXPECT_EQ(Reply(Packet{.opcode = 0x10}.Bytes(), stats), hits.Bytes() + why.Bytes() + end.Bytes());
}

// The stock of a flash sale: decrements may take as much as is above the guard, and no more.
TEST(Encoder, ArithmeticWithAGuard) {
  EXPECT_EQ(Answers("set stock 0 0 1\r\n5\r\n"
                    "ma stock MD G3 v\r\nma stock MD G3 v Oa k q\r\nma stock MD G3 v Ob k\r\n"
                    "ma stock MD G3 q\r\nma stock MD v\r\nma none MD G3\r\nma stock "
                    "G18446744073709551615\r\n"),
            "STORED\r\nVA 1\r\n4\r\nNS Ob kstock\r\nNS\r\nVA 1\r\n2\r\nNF\r\nNS\r\n");
}

TEST(Encoder, QuietAndOrdinaryCommands) {
  EXPECT_EQ(Answers("mg none q k\r\nmg none k\r\nmd none q\r\nma none q\r\nms k 1 q ME\r\nv\r\n"
                    "ms k 1 q ME c s\r\nvw\r\nms k 2 q ME c s\r\nvw\r\nmn\r\n"),
            "EN knone\r\nNF\r\nNF\r\nCLIENT_ERROR bad data chunk\r\nCLIENT_ERROR bad command line "
            "format\r\nNS c0 s2\r\nMN\r\n");
}

}  // namespace
}  // namespace rowsocket::memcached
