// A connection that the event loop can no longer watch: an epoll_ctl that fails on demand replaces
// the one of the C library, because a test cannot lower the machine's limit of watches.
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "frontend/handlersocket/exec_test/test_port.h"

namespace {

std::atomic<bool> is_refused = false;

}  // namespace

extern "C" int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  if (is_refused && operation != EPOLL_CTL_DEL) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

namespace rowsocket::exec {
namespace {

/// While it exists, the event loops of all threads watch no further event.
class NoWatchLeft {
 public:
  NoWatchLeft() { is_refused = true; }
  ~NoWatchLeft() { is_refused = false; }
  NoWatchLeft(const NoWatchLeft&) = delete;
  NoWatchLeft& operator=(const NoWatchLeft&) = delete;
};

// The replies do not fit into the kernel's buffers, so that the loop is to watch for room in them.
TEST(WatchTest, ClientThatCanNoLongerBeWatchedIsLost) {
  TestPort server;
  server.settings.limits.buffered_bytes_max = 16 * 1024;
  server.settings.listen.send_buffer_bytes = 64 * 1024;
  server.Start();
  LineClient client = server.ConnectAndOpen();
  server.store.CreateTable({"test.large", {"id", "v"}, {{"PRIMARY", {0}}}},
                           {{"1", std::string(10'000, 'x')}});
  EXPECT_EQ("0\t1", client.Ask("P\t1\ttest\tlarge\t\tv\n"));
  std::string finds;
  for (int i = 0; i < 2000; ++i) finds += "1\t=\t1\t1\n";
  server.TakeLog();
  const NoWatchLeft none;
  client.Send(finds);
  EXPECT_TRUE(Eventually([&] { return server.Stat(Stat::kConnections) == 0; }));
  EXPECT_TRUE(Eventually([&] { return server.Stat(Stat::kConnectionsLost) == 1; }));
  std::vector<std::string> log;
  EXPECT_TRUE(Eventually([&] {
    log = server.TakeLog();
    return !log.empty();
  }));
  EXPECT_EQ(
      std::vector<std::string>{
          "connections are closed that can no longer be watched: the user's limit of watched "
          "descriptors is reached; raise fs.epoll.max_user_watches (sysctl)"},
      log);
}

}  // namespace
}  // namespace rowsocket::exec
