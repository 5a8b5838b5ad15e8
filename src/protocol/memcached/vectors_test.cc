// Sends the golden vectors through parser, test store and encoders. The result is the answer of a
// real memcached, apart from the differences that the vectors name.
#include <gtest/gtest.h>

#include <string>

#include "protocol/memcached/parser.h"
#include "protocol/memcached/test_store.h"
#include "protocol/memcached/test_vectors.h"

namespace rowsocket::memcached {
namespace {

constexpr int64_t kNow = 1'700'000'000;

/// A connection to a store of its own.
class Session {
 public:
  /// Sends bytes, in pieces of `piece_bytes`; returns all answers to them.
  std::string Send(std::string_view bytes, size_t piece_bytes) {
    base::Buffer out;
    for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
      pending_ += bytes.substr(at, piece_bytes);
      while (!closed_ && RunOne(&out)) {
      }
    }
    return std::string(out.view());
  }

  bool closed() const { return closed_; }

 private:
  bool RunOne(base::Buffer* out) {
    base::Arena arena;
    Command command;
    const Step step = parser_.Next(pending_, limits_, arena, &command);
    if (step.result != ParseResult::kNeedMore) {
      store_.Execute(command, out);
      closed_ = command.closes;
    }
    pending_.erase(0, step.consumed);
    return step.result != ParseResult::kNeedMore;
  }

  const model::Limits limits_;
  Parser parser_;
  TestStore store_{kNow, limits_};
  std::string pending_;
  bool closed_ = false;
};

void Play(const Vector& vector, size_t piece_bytes) {
  Session session;
  Marks marks(kNow);
  std::string bytes;
  for (const VectorStep& step : vector.steps) {
    bytes = marks.Bytes(step.send);
    const std::string answer = session.Send(bytes, piece_bytes);
    EXPECT_TRUE(marks.Match(step.recv, answer))
        << vector.name << "\n sent: " << bytes.substr(0, 200)
        << "\n answered: " << answer.substr(0, 300) << "\n not: " << step.recv.substr(0, 300);
  }
  EXPECT_EQ(session.closed(), vector.end == Vector::End::kClosed) << vector.name;
  if (vector.end != Vector::End::kInStep) return;
  const bool binary = marks.Bytes(vector.steps.front().send).starts_with('\x80');
  const std::string noop = binary ? "\x80\x0a" + std::string(22, '\0') : "mn\r\n";
  const std::string answer = binary ? "\x81\x0a" + std::string(22, '\0') : "MN\r\n";
  EXPECT_EQ(session.Send(noop, piece_bytes), answer) << vector.name << ": out of step";
}

TEST(Vectors, AreAnsweredAsARealMemcachedDoes) {
  const std::vector<Vector> vectors = LoadVectors();
  EXPECT_GE(vectors.size(), 200u);
  for (const Vector& vector : vectors) Play(vector, std::string::npos);
}

TEST(Vectors, PiecesMakeNoDifference) {
  for (const Vector& vector : LoadVectors()) {
    // Vectors with large values are sent in larger pieces, because this test copies every piece.
    size_t text_bytes = 0;
    for (const VectorStep& step : vector.steps) text_bytes += step.send.size();
    const bool is_large = vector.name.find("limit") != std::string::npos || text_bytes > 10'000;
    Play(vector, is_large ? 4096 : 7);
  }
}

}  // namespace
}  // namespace rowsocket::memcached
