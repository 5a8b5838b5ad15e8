#include "keyspace/shared_housekeeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "engine/fake/session.h"
#include "exec/test_notification.h"

namespace rowsocket::keyspace {
namespace {

using engine::LockWait;
using exec::Notification;
using Part = SharedHousekeeper::Part;

/// Notes how many sessions there are when it is asked for one.
class CountingFactory final : public engine::SessionFactory {
 public:
  explicit CountingFactory(engine::fake::Store& store) : store_(store), sessions_(store) {}
  std::unique_ptr<engine::Session> Create(LockWait lock_wait) override {
    others = store_.sessions();
    is_asked.Notify();
    return sessions_.Create(lock_wait);
  }

  Notification is_asked;
  std::atomic<size_t> others{0};

 private:
  engine::fake::Store& store_;
  engine::fake::SessionFactory sessions_;
};

// The first housekeeper is held within a call of its session until the other plugin has come.
TEST(SharedHousekeeper, AnotherPluginsHousekeeperBeginsWhenTheFormerOneHasEnded) {
  using Kind = engine::fake::Call::Kind;
  engine::fake::Store store;
  Notification begins, is_stopping, may_end;
  std::atomic<bool> has_begun{false};
  store.SetHook([&](const engine::fake::Call& call) {
    if (call.kind == Kind::kInterrupt) {
      is_stopping.Notify();
    } else if (!has_begun.exchange(true)) {
      begins.Notify();
      EXPECT_TRUE(may_end.Wait());
    }
    return engine::Outcome();
  });
  Keyspaces keyspaces(KeyspacesSettings{[](const std::string&) {}, {}, {}});
  SharedHousekeeper shared(keyspaces);
  CountingFactory first(store), second(store);
  std::string error;
  ASSERT_TRUE(shared.Offer("first", Part::kContainers, first, {}, &error));
  ASSERT_TRUE(begins.Wait());
  std::thread withdraws([&shared] { shared.Withdraw("first"); });
  ASSERT_TRUE(is_stopping.Wait());
  EXPECT_TRUE(shared.Offer("second", Part::kResp, second, {}, &error));
  // A housekeeper that did not wait for the end of the former one would ask for its session now.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  may_end.Notify();
  withdraws.join();
  EXPECT_TRUE(second.is_asked.Wait());
  EXPECT_EQ(0u, second.others);
  shared.Withdraw("second");
  EXPECT_EQ(0u, store.sessions());
}

}  // namespace
}  // namespace rowsocket::keyspace
