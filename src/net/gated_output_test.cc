#include "net/gated_output.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace rowsocket::net {
namespace {

TEST(GatedOutput, NothingIsSendableBeforeItIsReleased) {
  GatedOutput out;
  out.bytes().Append("read");
  EXPECT_EQ("", out.sendable());
  EXPECT_EQ(4u, out.unsent_bytes());
  out.ReleaseToGate();
  EXPECT_EQ("read", out.sendable());
}

TEST(GatedOutput, HoldLetsGoOnlyEarlierBytes) {
  GatedOutput out;
  out.bytes().Append("read ");
  out.HoldGate();
  out.bytes().Append("write ");
  EXPECT_EQ("read ", out.sendable());
  out.ReleaseToGate();
  out.bytes().Append("read behind it ");
  out.ReleaseToGate();
  EXPECT_EQ("read ", out.sendable());
  out.OpenGate();
  EXPECT_EQ("read write read behind it ", out.sendable());
  EXPECT_FALSE(out.is_gate_held());
}

TEST(GatedOutput, HoldingTwiceKeepsTheFirstHold) {
  GatedOutput out;
  out.HoldGate();
  out.bytes().Append("one ");
  out.HoldGate();
  out.bytes().Append("two ");
  EXPECT_EQ("", out.sendable());
  out.OpenGate();
  EXPECT_EQ("one two ", out.sendable());
}

TEST(GatedOutput, DropTakesBackOnlyUnreleasedBytes) {
  GatedOutput out;
  out.bytes().Append("read ");
  out.HoldGate();
  out.bytes().Append("success ");
  out.DropGated();
  EXPECT_TRUE(out.is_gate_held());
  out.ReleaseToGate();
  EXPECT_EQ("read ", out.sendable());
  out.bytes().Append("failure ");
  EXPECT_EQ("read ", out.sendable());
  out.OpenGate();
  EXPECT_EQ("read failure ", out.sendable());
}

TEST(GatedOutput, DropWithoutHoldTakesBackUnreleasedBytes) {
  GatedOutput out;
  out.bytes().Append("kept ");
  out.ReleaseToGate();
  out.bytes().Append("dropped ");
  out.DropGated();
  out.ReleaseToGate();
  EXPECT_EQ("kept ", out.sendable());
}

TEST(GatedOutput, BytesLeaveAtTheFrontWhileTheGateIsHeld) {
  GatedOutput out;
  out.bytes().Append("read ");
  out.HoldGate();
  out.bytes().Append("write ");
  out.Consume(3);
  EXPECT_EQ("d ", out.sendable());
  out.Consume(2);
  EXPECT_EQ("", out.sendable());
  EXPECT_EQ(6u, out.unsent_bytes());
  out.OpenGate();
  EXPECT_EQ("write ", out.sendable());
  out.Consume(6);
  EXPECT_TRUE(out.empty());
}

TEST(GatedOutput, ShorterRepliesAfterADropAreReleasedToo) {
  GatedOutput out;
  out.HoldGate();
  out.bytes().Append("a long success ");
  out.HoldGate();
  out.bytes().Append("another ");
  out.DropGated();
  out.bytes().Append("no ");
  out.OpenGate();
  EXPECT_EQ("no ", out.sendable());
  // Replies of later reads would wait for a commit that has ended.
  EXPECT_FALSE(out.is_gate_held());
}

// Makes calls in random order, and compares the output with a list in which each byte has the
// commit that it waits for.
TEST(GatedOutput, NoByteBehindAnUncommittedWriteIsEverSendable) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    GatedOutput out;
    std::vector<int> waits_for;  // per unsent byte: the last batch written before it
    int batch = 0;               // the batch that is being executed
    int durable = 0;             // the last durable batch
    int last_write = 0;          // batch of the last write answered
    const auto append = [&](int count) {
      for (int i = 0; i < count; ++i) {
        out.bytes().Append('x');
        waits_for.push_back(last_write);
      }
    };
    for (int step = 0; step < 400; ++step) {
      switch (random() % 6) {
        case 0:
          append(1 + static_cast<int>(random() % 5));
          break;
        case 1:  // a batch with a write
          out.HoldGate();
          last_write = ++batch;
          append(1 + static_cast<int>(random() % 5));
          break;
        case 2:
          out.ReleaseToGate();
          break;
        case 3:
          durable = batch;
          out.OpenGate();
          ASSERT_EQ(out.unsent_bytes(), out.sendable_bytes());
          break;
        default: {
          const size_t count = random() % (out.sendable_bytes() + 1);
          out.Consume(count);
          waits_for.erase(waits_for.begin(), waits_for.begin() + static_cast<ptrdiff_t>(count));
        }
      }
      ASSERT_EQ(waits_for.size(), out.unsent_bytes());
      for (size_t i = 0; i < out.sendable_bytes(); ++i) {
        ASSERT_LE(waits_for[i], durable) << "seed " << seed << " step " << step;
      }
      ASSERT_EQ(durable != batch, out.is_gate_held()) << "seed " << seed << " step " << step;
    }
  }
}

#ifdef ROWSOCKET_CHECKS
TEST(GatedOutputDeathTest, CuttingAwayReleasedBytesIsCaught) {
  GatedOutput out;
  out.bytes().Append("reply");
  out.ReleaseToGate();
  out.bytes().Truncate(2);
  EXPECT_DEATH(out.sendable(), "released_");
}

TEST(GatedOutputDeathTest, SendingHeldBytesIsCaught) {
  GatedOutput out;
  out.HoldGate();
  out.bytes().Append("reply");
  EXPECT_DEATH(out.Consume(1), "sendable_bytes");
}
#endif

}  // namespace
}  // namespace rowsocket::net
