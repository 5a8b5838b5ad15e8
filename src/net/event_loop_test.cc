#include "net/event_loop.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "net/listener.h"
#include "net/test_sockets.h"

namespace rowsocket::net {
namespace {

class EventLoopTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(loop_.Open()); }
  std::span<const Event> Wait(int timeout_ms) { return loop_.Wait(events_, timeout_ms); }

  EventLoop loop_;
  std::array<Event, 8> events_;
};

TEST_F(EventLoopTest, ReportsReadyDescriptorsWithTheirTags) {
  SocketPair pair = MakeUnixPair();
  int tag = 0;
  ASSERT_TRUE(loop_.Add(pair.server.get(), EPOLLIN, &tag));
  EXPECT_TRUE(Wait(0).empty());

  WriteAll(pair.client.get(), "x");
  for (int i = 0; i < 2; ++i) {  // level-triggered: reported as long as the byte is there
    const auto ready = Wait(kTestTimeoutMs);
    ASSERT_EQ(1u, ready.size());
    EXPECT_EQ(&tag, ready[0].tag());
    EXPECT_EQ(uint32_t{EPOLLIN}, ready[0].ready());
  }
  ReadExactly(pair.server.get(), 1);
  EXPECT_TRUE(Wait(0).empty());
}

TEST_F(EventLoopTest, ModifyAndRemoveTakeEffect) {
  SocketPair pair = MakeUnixPair();
  int first = 0, second = 0;
  ASSERT_TRUE(loop_.Add(pair.server.get(), EPOLLIN, &first));
  ASSERT_TRUE(loop_.Modify(pair.server.get(), EPOLLOUT, &second));
  const auto ready = Wait(kTestTimeoutMs);
  ASSERT_EQ(1u, ready.size());
  EXPECT_EQ(&second, ready[0].tag());
  EXPECT_EQ(uint32_t{EPOLLOUT}, ready[0].ready());
  ASSERT_TRUE(loop_.Remove(pair.server.get()));
  EXPECT_TRUE(Wait(0).empty());
  EXPECT_FALSE(loop_.Remove(pair.server.get()));
}

TEST_F(EventLoopTest, WakeBeforeWaitIsNotLost) {
  loop_.Wake();
  loop_.Wake();
  EXPECT_TRUE(Wait(-1).empty());  // if a Wake were lost, this would sleep for ever
  EXPECT_TRUE(Wait(0).empty());
}

TEST_F(EventLoopTest, WakeEndsASleep) {
  std::thread waker([this] { loop_.Wake(); });
  EXPECT_TRUE(Wait(-1).empty());
  waker.join();
}

TEST_F(EventLoopTest, WakeAmongOtherEventsIsNotReported) {
  constexpr int kRounds = 2000;
  SocketPair first = MakeUnixPair(), second = MakeUnixPair();
  ASSERT_TRUE(loop_.Add(first.server.get(), EPOLLIN, &first));
  ASSERT_TRUE(loop_.Add(second.server.get(), EPOLLIN, &second));
  std::atomic<int> seen{0};
  std::atomic<int> strangers{0};
  std::thread owner([&] {
    while (seen < 2 * kRounds) {
      for (const Event& event : Wait(-1)) {
        auto* pair = static_cast<SocketPair*>(event.tag());
        if (pair != &first && pair != &second) {
          ++strangers;
          continue;
        }
        ReadExactly(pair->server.get(), 1);
        ++seen;
      }
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    loop_.Wake();  // the owner usually sleeps: the wake-up and both sockets are one Wait's events
    WriteAll(first.client.get(), "x");
    WriteAll(second.client.get(), "x");
    while (seen < 2 * (round + 1)) std::this_thread::yield();
  }
  owner.join();
  EXPECT_EQ(0, strangers);
}

TEST_F(EventLoopTest, EverythingPushedBeforeAWakeIsSeen) {
  constexpr int kProducers = 3;
  constexpr int kPushes = 20'000;
  std::atomic<int> pushed{0};
  std::array<std::thread, kProducers> producers;
  for (std::thread& producer : producers) {
    producer = std::thread([&] {
      for (int i = 0; i < kPushes; ++i) {
        pushed.fetch_add(1, std::memory_order_relaxed);
        loop_.Wake();
        if (i % 64 == 0) std::this_thread::yield();
      }
    });
  }
  // Wait has no timeout here: one lost wake-up leaves this thread asleep.
  while (pushed.load(std::memory_order_relaxed) < kProducers * kPushes) Wait(-1);
  for (std::thread& producer : producers) producer.join();
}

TEST_F(EventLoopTest, FullSpanLeavesTheRestForTheNextWait) {
  SocketPair first = MakeUnixPair(), second = MakeUnixPair();
  ASSERT_TRUE(loop_.Add(first.server.get(), EPOLLIN, &first));
  ASSERT_TRUE(loop_.Add(second.server.get(), EPOLLIN, &second));
  WriteAll(first.client.get(), "x");
  WriteAll(second.client.get(), "x");
  std::array<Event, 1> one;
  const auto ready = loop_.Wait(one, kTestTimeoutMs);
  ASSERT_EQ(1u, ready.size());
  const void* seen = ready[0].tag();
  const auto rest = loop_.Wait(one, kTestTimeoutMs);
  ASSERT_EQ(1u, rest.size());
  EXPECT_NE(seen, rest[0].tag());
}

TEST_F(EventLoopTest, SharedListenerIsSeenByOneOrMoreLoops) {
  Address address;
  address.host = "127.0.0.1";
  Listener::OpenError error;
  const auto listener = Listener::Open(address, {}, &error);
  ASSERT_TRUE(listener) << error.text;
  EventLoop other;
  ASSERT_TRUE(other.Open());
  int tag = 0;
  ASSERT_TRUE(loop_.AddShared(listener->fd(), &tag));
  ASSERT_TRUE(other.AddShared(listener->fd(), &tag));
  EXPECT_FALSE(loop_.Modify(listener->fd(), EPOLLIN, &tag));  // fails, as event_loop.h warns
  EXPECT_EQ(EINVAL, errno);

  const UniqueFd client = ConnectV4(listener->address().port);
  ASSERT_TRUE(client.valid());
  ASSERT_TRUE(WaitFor(listener->fd(), POLLIN));
  std::array<Event, 4> events;
  EXPECT_GE(Wait(0).size() + other.Wait(events, 0).size(), 1u);
  // A listener is paused: it is taken out and added again, while the connection still waits.
  ASSERT_TRUE(loop_.Remove(listener->fd()));
  EXPECT_TRUE(Wait(0).empty());
  ASSERT_TRUE(loop_.AddShared(listener->fd(), &tag));
  EXPECT_EQ(1u, Wait(kTestTimeoutMs).size());
}

}  // namespace
}  // namespace rowsocket::net
