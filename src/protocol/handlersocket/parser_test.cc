#include "protocol/handlersocket/parser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_guarded_bytes.h"
#include "protocol/handlersocket/command_check.h"
#include "protocol/handlersocket/dump.h"
#include "protocol/handlersocket/framer.h"
#include "protocol/handlersocket/test_vectors.h"

namespace rowsocket::handlersocket {
namespace {

using namespace std::string_literals;
using model::ErrorCode;

constexpr size_t kInputBytesMax = 64 * 1024;

/// Parses `line` with a guard page after it, and checks what must be true of every command.
std::string ParseGuarded(std::string_view line, const model::Limits& limits = {}) {
  static base::GuardedBytes guarded(kInputBytesMax);
  base::Arena arena;
  Command command;
  const std::string_view placed = guarded.Place(line);
  command = ParseLine(placed, limits, arena);
  EXPECT_EQ(CheckCommand(placed, limits, command), "") << line;
  const std::string dump = Dump(command);
  const model::Find& find = command.request.find;
  if (command.errors.empty() && find.key_parts_given <= model::kKeyPartsMax) {
    Command again;
    const std::string written = ToLine(command);
    again = ParseLine(written, limits, arena);
    EXPECT_EQ(Dump(again), dump) << line;
  }
  return dump;
}

/// The receiving side of a connection, whose input ends at a guard page.
class Receiver {
 public:
  void Receive(std::string_view bytes) {
    pending_ += bytes;
    for (;;) {
      const std::string_view input = guarded_.Place(pending_);
      const Framer::Step step = framer_.Next(input, model::Limits().line_bytes_max);
      if (step.result == Framer::Result::kLine) {
        dumps_.push_back(ParseGuarded(std::string(step.line)));
      }
      pending_.erase(0, step.consumed);
      if (step.result == Framer::Result::kNeedMore) return;
    }
  }
  std::vector<std::string> TakeDumps() { return std::exchange(dumps_, {}); }

 private:
  base::GuardedBytes guarded_{kInputBytesMax};
  Framer framer_;
  std::string pending_;
  std::vector<std::string> dumps_;
};

const std::vector<Vector>& Vectors() {
  static const std::vector<Vector> vectors = LoadVectors();
  return vectors;
}

TEST(Vectors, AreThere) { EXPECT_GE(Vectors().size(), 400u); }

TEST(Vectors, EachStepParsesAsItSays) {
  for (const Vector& vector : Vectors()) {
    Receiver receiver;
    for (const VectorStep& step : vector.steps) {
      receiver.Receive(step.send);
      EXPECT_EQ(receiver.TakeDumps(), step.parse) << vector.name;
    }
  }
}

TEST(Vectors, EachCommandHasOneReply) {
  for (const Vector& vector : Vectors()) {
    for (const VectorStep& step : vector.steps) {
      EXPECT_EQ(static_cast<size_t>(std::count(step.recv.begin(), step.recv.end(), '\n')),
                step.parse.size())
          << vector.name;
    }
  }
}

// A vector makes the same commands whether it comes in one piece, in two, or byte by byte.
TEST(Vectors, SplitAtEveryByte) {
  for (const Vector& vector : Vectors()) {
    const std::string sent = vector.AllSent();
    const std::vector<std::string> parsed = vector.AllParsed();
    Receiver bytewise;
    for (size_t cut = 0; cut <= sent.size(); ++cut) {
      Receiver receiver;
      receiver.Receive(std::string_view(sent).substr(0, cut));
      receiver.Receive(std::string_view(sent).substr(cut));
      ASSERT_EQ(receiver.TakeDumps(), parsed) << vector.name << " cut at " << cut;
      bytewise.Receive(std::string_view(sent).substr(cut, 1));
    }
    ASSERT_EQ(bytewise.TakeDumps(), parsed) << vector.name << " byte by byte";
  }
}

// No beginning of a line counts as a line, but the parser can take each of them without reading
// past its end.
TEST(Vectors, CutAtEveryByte) {
  for (const Vector& vector : Vectors()) {
    const std::string sent = vector.AllSent();
    base::GuardedBytes guarded(kInputBytesMax);
    size_t begin = 0;
    for (size_t end = 0; end < sent.size(); ++end) {
      const std::string_view cut = std::string_view(sent).substr(begin, end - begin);
      const Framer::Step step = Framer().Next(guarded.Place(cut), kInputBytesMax);
      ASSERT_EQ(step.result, Framer::Result::kNeedMore) << vector.name;
      ASSERT_EQ(step.consumed, 0u) << vector.name;
      ASSERT_NE(ParseGuarded(cut), "") << vector.name;
      if (sent[end] == '\n') begin = end + 1;
    }
  }
}

TEST(Parser, IdsAreBelowTheLimit) {
  const model::Limits limits{.index_ids_max = 10};
  EXPECT_EQ(ParseGuarded("9\t=\t1\tx", limits), "find 9 = 1[\"x\"] limit=1 offset=0");
  EXPECT_EQ(ParseGuarded("10\t=\t1\tx", limits), "find 10 = 1[\"x\"] limit=1 offset=0 !stmtnum");
  EXPECT_EQ(ParseGuarded("P\t10\td\tt", limits), "open 10 \"d\" \"t\" \"\" [] [] !stmtnum");
}

TEST(Parser, ValuesAreNoMoreThanTheLimit) {
  const model::Limits limits{.values_max = 3};
  EXPECT_EQ(ParseGuarded("0\t+\t3\ta\tb\tc", limits), "insert 0 [\"a\",\"b\",\"c\"] write");
  EXPECT_EQ(ParseGuarded("0\t+\t4\ta\tb\tc\td", limits), "insert 0 [] write !values_count");
  const std::string find = "0\t=\t1\tk\t1\t0";
  const std::string found = "find 0 = 1[\"k\"] limit=1 offset=0";
  EXPECT_EQ(ParseGuarded(find + "\t@\t0\t3\ta\tb", limits), found + " in=0[\"a\",\"b\",\"\"]");
  EXPECT_EQ(ParseGuarded(find + "\t@\t0\t4\ta\tb\tc\td", limits), found + " in=0[] !values_count");
  EXPECT_EQ(ParseGuarded(find + "\tU\ta\tb\tc", limits), found + " mod=U[\"a\",\"b\",\"c\"] write");
  EXPECT_EQ(ParseGuarded(find + "\tU\ta\tb\tc\td", limits), found + " mod=U[] write !values_count");
  EXPECT_EQ(ParseGuarded(find + "\tD\ta\tb\tc\td", limits), found + " mod=D[] write");
  const std::string filter = "\tF\t=\t0\tx";
  const std::string three = filter + filter + filter;
  EXPECT_EQ(ParseGuarded(find + three, limits),
            found + " filters=[F = 0 \"x\"; F = 0 \"x\"; F = 0 \"x\"]");
  EXPECT_EQ(ParseGuarded(find + three + filter, limits), found + " !values_count");
}

// The parser finds the words after too many values.
TEST(Parser, TooManyValuesAreSkipped) {
  const model::Limits limits{.values_max = 2};
  EXPECT_EQ(ParseGuarded("0\t=\t1\tk\t1\t0\t@\t0\t3\ta\tb\tc\tX", limits),
            "find 0 = 1[\"k\"] limit=1 offset=0 in=0[] write !values_count !modop");
  const std::string filter = "\tF\t=\t0\tx";
  EXPECT_EQ(ParseGuarded("0\t=\t1\tk\t1\t0" + filter + filter + filter + "\tX", limits),
            "find 0 = 1[\"k\"] limit=1 offset=0 write !values_count !modop");
}

TEST(Parser, KeyValuesAboveTheMostKeyPartsAreCountedAndSkipped) {
  std::string line = "0\t=\t40";
  for (int i = 0; i < 40; ++i) line += "\tv" + std::to_string(i);
  const std::string dump = ParseGuarded(line + "\t7\t8");
  EXPECT_EQ(dump.substr(0, dump.find('[')), "find 0 = 40");
  EXPECT_EQ(dump.substr(dump.find(']') - 5), "\"v31\"] limit=7 offset=8");
}

TEST(Parser, ColumnsAreNoMoreThanTheLimit) {
  std::string list = "c";
  for (uint32_t i = 1; i < model::kColumnsMax; ++i) list += ",c";
  const model::Limits limits;
  base::Arena arena;
  Command command;
  std::string line = "P\t0\td\tt\t\t" + list;
  command = ParseLine(line, limits, arena);
  EXPECT_EQ(command.open_index.columns.size(), model::kColumnsMax);
  EXPECT_TRUE(command.errors.empty());
  line += ",c";
  command = ParseLine(line, limits, arena);
  EXPECT_TRUE(command.open_index.columns.empty());
  EXPECT_EQ(command.errors.First(), ErrorCode::kValuesCount);
}

TEST(Parser, InsertKeepsNoMoreValuesThanThereAreColumns) {
  base::Arena arena;
  Command command = ParseLine("0\t+\t9999\ta", model::Limits(), arena);
  EXPECT_TRUE(command.errors.empty());
  EXPECT_EQ(command.request.insert.values.size(), model::kColumnsMax);
}

TEST(Parser, ForgetsTheCommandBefore) {
  base::Arena arena;
  Command command =
      ParseLine("5\t=\t1\tk\t1\t0\t@\t0\t1\ta\tF\t=\t0\tx\tU?\tm", model::Limits(), arena);
  command = ParseLine("x", model::Limits(), arena);
  EXPECT_EQ(Dump(command), "invalid !cmd");
  command = ParseLine("0\t=\t1\tk", model::Limits(), arena);
  EXPECT_EQ(Dump(command), "find 0 = 1[\"k\"] limit=1 offset=0");
}

TEST(Parser, AnyTwoBytesAreALine) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char line[] = {static_cast<char>(first), static_cast<char>(second)};
      ParseGuarded({line, 2});
    }
  }
}

// Replaces each byte of each line by every byte that has a meaning.
TEST(Vectors, AnyByteReplaced) {
  constexpr std::string_view kBytes("\t\0\x01\r09=@FWU,-?\xff", 15);
  for (const Vector& vector : Vectors()) {
    std::string sent = vector.AllSent();
    sent.resize(std::min(sent.find('\n', sent.find('\n') + 1), sent.size()));
    const std::string last = sent.substr(sent.find('\n') + 1);
    for (size_t i = 0; i < last.size(); ++i) {
      std::string line = last;
      for (const char byte : kBytes) {
        line[i] = byte;
        ParseGuarded(line);
      }
    }
  }
}

}  // namespace
}  // namespace rowsocket::handlersocket
