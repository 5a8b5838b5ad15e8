// A housekeeper that gets no session for a while, because the server has no memory for it.
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "exec/test_port.h"
#include "frontend/memcached/memcached_fixture.h"

namespace rowsocket::frontend {
namespace {

/// Has no memory for the first sessions that it is asked for.
class LaterSessions final : public engine::SessionFactory {
 public:
  LaterSessions(engine::SessionFactory& sessions, unsigned without)
      : sessions_(sessions), without_(without) {}
  std::unique_ptr<engine::Session> Create(engine::LockWait lock_wait) override {
    if (++asked_ <= without_) throw std::bad_alloc();
    return sessions_.Create(lock_wait);
  }
  bool IsStopping() const override { return sessions_.IsStopping(); }
  unsigned asked() const { return asked_; }

 private:
  engine::SessionFactory& sessions_;
  const unsigned without_;
  std::atomic<unsigned> asked_{0};
};

class HousekeeperSessionTest : public MemcachedTest {
 protected:
  HousekeeperSessionTest() {
    store_.CreateTable({"test.expiring",
                        {"a", "v", "e"},
                        {{"PRIMARY", {0}}},
                        false,
                        false,
                        {{"e", Of(Kind::kInteger)}}},
                       {{"k", "v", "1000"}});
    Define({{"expiring", "test", "expiring", "a", "v", "0", "0", "e", "PRIMARY"}});
  }
  void Log(const std::string& line) {
    const std::lock_guard lock(mutex_);
    log_.push_back(line);
  }
  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  keyspace::Keyspaces keyspaces_{
      keyspace::KeyspacesSettings{[this](const std::string& line) { Log(line); }, {}, {}}};

 private:
  std::mutex mutex_;
  std::vector<std::string> log_;
};

constexpr char kNoMemory[] =
    "the housekeeper has no session, for want of memory: until it gets one, expired rows stay, and "
    "delayed flushes wait";

TEST_F(HousekeeperSessionTest, PurgesOnceThereIsMemoryForItsSession) {
  LaterSessions sessions(sessions_, 3);
  keyspace::Housekeeper housekeeper(keyspaces_, sessions, Purging(1000));
  ASSERT_TRUE(housekeeper.Start());
  EXPECT_TRUE(exec::Eventually([this] { return store_.RowCount("test.expiring") == 0; }));
  housekeeper.Stop();
  EXPECT_EQ(std::vector<std::string>{kNoMemory}, log());
}

TEST_F(HousekeeperSessionTest, StopsWhileThereIsNoMemoryForItsSession) {
  LaterSessions sessions(sessions_, 1'000'000);
  keyspace::Housekeeper housekeeper(keyspaces_, sessions, Purging(1000));
  ASSERT_TRUE(housekeeper.Start());
  EXPECT_TRUE(exec::Eventually([&] { return sessions.asked() == 3; }));
  housekeeper.Stop();
  EXPECT_EQ(std::vector<std::string>{kNoMemory}, log());
}

TEST_F(HousekeeperSessionTest, SaysNothingOfMemoryWhileTheServerIsShuttingDown) {
  LaterSessions sessions(sessions_, 1'000'000);
  store_.ShutDown();
  keyspace::Housekeeper housekeeper(keyspaces_, sessions, Purging(1000));
  ASSERT_TRUE(housekeeper.Start());
  housekeeper.Stop();
  EXPECT_TRUE(log().empty());
}

}  // namespace
}  // namespace rowsocket::frontend
