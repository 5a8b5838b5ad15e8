#include "base/counters.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace rowsocket::base {
namespace {

enum class Count { kRequests, kBytes, kOpen, kCount };

TEST(Counters, SumOverBlocks) {
  CounterRegistry<Count> registry;
  EXPECT_EQ(0u, registry.Sum(Count::kRequests));
  CounterBlock<Count> first(registry), second(registry);
  first.Add(Count::kRequests);
  first.Add(Count::kBytes, 100);
  second.Add(Count::kRequests, 2);
  EXPECT_EQ(3u, registry.Sum(Count::kRequests));
  EXPECT_EQ(100u, registry.Sum(Count::kBytes));
  EXPECT_EQ(0u, registry.Sum(Count::kOpen));
}

TEST(Counters, CountsOfADestroyedBlockStay) {
  CounterRegistry<Count> registry;
  auto gone = std::make_unique<CounterBlock<Count>>(registry);
  CounterBlock<Count> stays(registry);
  gone->Add(Count::kRequests, 5);
  stays.Add(Count::kRequests, 7);
  gone.reset();
  EXPECT_EQ(12u, registry.Sum(Count::kRequests));
  stays.Add(Count::kRequests);
  EXPECT_EQ(13u, registry.Sum(Count::kRequests));
}

TEST(Counters, GaugeMayMoveBetweenBlocks) {
  CounterRegistry<Count> registry;
  CounterBlock<Count> opens(registry);
  {
    CounterBlock<Count> closes(registry);
    opens.Add(Count::kOpen, 3);
    closes.Subtract(Count::kOpen, 2);
    EXPECT_EQ(1u, registry.Sum(Count::kOpen));
  }
  EXPECT_EQ(1u, registry.Sum(Count::kOpen));
}

TEST(Counters, BlocksShareNoCacheLine) {
  EXPECT_EQ(0u, alignof(CounterBlock<Count>) % kCacheLineBytes);
  EXPECT_EQ(0u, sizeof(CounterBlock<Count>) % kCacheLineBytes);
}

TEST(Counters, NothingIsLostWhileThreadsComeAndGo) {
  constexpr uint64_t kThreads = 4, kAdds = 10'000;
  CounterRegistry<Count> registry;
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&registry] {
      CounterBlock<Count> block(registry);
      for (uint64_t n = 0; n < kAdds; ++n) block.Add(Count::kRequests);
    });
  }
  uint64_t seen = 0;
  while (seen < kThreads * kAdds) {
    const uint64_t now = registry.Sum(Count::kRequests);
    ASSERT_GE(now, seen);
    seen = now;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kThreads * kAdds, registry.Sum(Count::kRequests));
}

}  // namespace
}  // namespace rowsocket::base
