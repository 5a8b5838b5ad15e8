#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <utility>

#include "net/test_sockets.h"

namespace rowsocket::net {
namespace {

using Status = Listener::AcceptStatus;

const VariableNames kNames{"handlersocket_address", "handlersocket_port", "handlersocket_socket"};

Address Tcp(const char* host, uint16_t port = 0) {
  Address address;
  address.host = host;
  address.port = port;
  return address;
}

Address Unix(const std::string& path, Address::Origin origin = Address::Origin::kSocket) {
  Address address;
  address.kind = Address::Kind::kUnix;
  address.path = path;
  address.path_origin = origin;
  return address;
}

std::optional<Listener> Open(const Address& address, const ListenOptions& options = {}) {
  Listener::OpenError error;
  auto listener = Listener::Open(address, options, &error);
  EXPECT_TRUE(listener) << error.text;
  return listener;
}

std::string OpenFailure(const Address& address) {
  ListenOptions options;
  options.variables = kNames;
  Listener::OpenError error;
  return Listener::Open(address, options, &error) ? "it did not fail" : error.text;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int IntOption(int fd, int level, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(0, getsockopt(fd, level, option, &value, &size));
  return value;
}

bool HasIpv6() {
  Listener::OpenError error;
  return Listener::Open(Tcp("::1"), {}, &error).has_value();
}

UniqueFd ConnectUnix(const std::string& path) {
  UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  path.copy(where.sun_path, sizeof(where.sun_path) - 1);
  if (connect(client.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)) != 0) {
    client.Reset();
  }
  return client;
}

class UnixListenerTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rowsocket-net-XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(name));
    directory_ = name;
    path_ = directory_ + "/hs.sock";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }
  bool Exists() const {
    struct stat status;
    return lstat(path_.c_str(), &status) == 0;
  }

  std::string directory_;
  std::string path_;
};

TEST(Listener, AcceptsNonblockingConnectionsWithoutDelay) {
  const auto listener = Open(Tcp("127.0.0.1"));
  ASSERT_TRUE(listener);
  EXPECT_NE(0, listener->address().port);
  EXPECT_EQ(Status::kNone, listener->Accept().status);

  const UniqueFd client = ConnectV4(listener->address().port);
  ASSERT_TRUE(client.valid());
  ASSERT_TRUE(WaitFor(listener->fd(), POLLIN));
  const auto accepted = listener->Accept();
  ASSERT_EQ(Status::kAccepted, accepted.status);
  EXPECT_TRUE(NothingToRead(accepted.fd.get()));
  EXPECT_NE(0, fcntl(accepted.fd.get(), F_GETFL) & O_NONBLOCK);
  EXPECT_NE(0, fcntl(accepted.fd.get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_EQ(1, IntOption(accepted.fd.get(), IPPROTO_TCP, TCP_NODELAY));
  EXPECT_EQ(Status::kNone, listener->Accept().status);
}

TEST(Listener, BufferSizesReachTheConnections) {
  ListenOptions options;
  options.send_buffer_bytes = 20'000;
  options.receive_buffer_bytes = 30'000;
  const auto listener = Open(Tcp("127.0.0.1"), options);
  ASSERT_TRUE(listener);
  const UniqueFd client = ConnectV4(listener->address().port);
  ASSERT_TRUE(WaitFor(listener->fd(), POLLIN));
  const auto accepted = listener->Accept();
  ASSERT_EQ(Status::kAccepted, accepted.status);
  // The kernel doubles what was asked for.
  EXPECT_EQ(40'000, IntOption(accepted.fd.get(), SOL_SOCKET, SO_SNDBUF));
  EXPECT_EQ(60'000, IntOption(accepted.fd.get(), SOL_SOCKET, SO_RCVBUF));
}

TEST(Listener, PortInUseSaysWhichVariableToChange) {
  const auto listener = Open(Tcp("127.0.0.1"));
  ASSERT_TRUE(listener);
  const uint16_t port = listener->address().port;
  const std::string failure = OpenFailure(Tcp("127.0.0.1", port));
  EXPECT_TRUE(Contains(failure, "127.0.0.1:" + std::to_string(port))) << failure;
  EXPECT_TRUE(Contains(failure, "Address already in use")) << failure;
  EXPECT_TRUE(Contains(failure, "change handlersocket_port)")) << failure;
}

TEST(Listener, ForeignAddressSaysWhichVariableToChange) {
  // TEST-NET-1: no machine has this address.
  const std::string failure = OpenFailure(Tcp("192.0.2.1", 9998));
  EXPECT_TRUE(Contains(failure, "192.0.2.1:9998: Cannot assign requested address")) << failure;
  EXPECT_TRUE(Contains(failure, "change handlersocket_address)")) << failure;
}

TEST(Listener, TextsNameTheCallersVariables) {
  const auto taken = Open(Tcp("127.0.0.1"));
  ASSERT_TRUE(taken);
  ListenOptions options;
  options.variables = kNames;
  options.variables.port = "handlersocket_port_wr";
  Listener::OpenError error;
  EXPECT_FALSE(Listener::Open(taken->address(), options, &error));
  EXPECT_TRUE(Contains(error.text, "change handlersocket_port_wr)")) << error.text;
}

TEST(Listener, PortIsFreeAfterClosingWithConnectionsOpen) {
  auto listener = Open(Tcp("127.0.0.1"));
  ASSERT_TRUE(listener);
  const Address address = listener->address();
  UniqueFd client = ConnectV4(address.port);
  ASSERT_TRUE(WaitFor(listener->fd(), POLLIN));
  {
    const auto accepted =
        listener->Accept();  // closed first by the server: its side goes to TIME_WAIT
    ASSERT_EQ(Status::kAccepted, accepted.status);
  }
  client.Reset();
  listener->Close();
  EXPECT_FALSE(ConnectV4(address.port).valid());
  EXPECT_TRUE(Open(address));
}

TEST(Listener, WildcardsOfBothFamiliesStandSideBySide) {
  if (!HasIpv6()) GTEST_SKIP() << "no IPv6 here";
  const auto v4 = Open(Tcp("0.0.0.0"));
  ASSERT_TRUE(v4);
  const auto v6 = Open(Tcp("::", v4->address().port));
  ASSERT_TRUE(v6);
  const UniqueFd client = ConnectV4(v4->address().port);
  ASSERT_TRUE(client.valid());
  ASSERT_TRUE(WaitFor(v4->fd(), POLLIN));
  EXPECT_EQ(Status::kAccepted, v4->Accept().status);
  EXPECT_EQ(Status::kNone, v6->Accept().status);
}

TEST(Listener, Ipv6) {
  if (!HasIpv6()) GTEST_SKIP() << "no IPv6 here";
  const auto listener = Open(Tcp("::1"));
  ASSERT_TRUE(listener);
  const UniqueFd client(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 where{};
  where.sin6_family = AF_INET6;
  where.sin6_port = htons(listener->address().port);
  where.sin6_addr = in6addr_loopback;
  ASSERT_EQ(0, connect(client.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)));
  ASSERT_TRUE(WaitFor(listener->fd(), POLLIN));
  const auto accepted = listener->Accept();
  ASSERT_EQ(Status::kAccepted, accepted.status);
  EXPECT_EQ(1, IntOption(accepted.fd.get(), IPPROTO_TCP, TCP_NODELAY));
}

TEST(Listener, OutOfFileDescriptorsIsTold) {
  const auto listener = Open(Tcp("127.0.0.1"));
  ASSERT_TRUE(listener);
  const UniqueFd client = ConnectV4(listener->address().port);
  ASSERT_TRUE(WaitFor(listener->fd(), POLLIN));

  rlimit before;
  ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
  const int lowest_free = dup(0);
  ASSERT_GE(lowest_free, 0);
  close(lowest_free);
  const rlimit none_left{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none_left));
  const auto refused = listener->Accept();
  ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));

  EXPECT_EQ(Status::kNoResources, refused.status);
  EXPECT_EQ(EMFILE, refused.error);
  EXPECT_EQ(Status::kAccepted,
            listener->Accept().status);  // the connection has waited in the queue
}

TEST(Listener, ClosedListenerIsBroken) {
  auto listener = Open(Tcp("127.0.0.1"));
  ASSERT_TRUE(listener);
  listener->Close();
  EXPECT_EQ(Status::kBroken, listener->Accept().status);
}

TEST(Listener, AFreedAddressIsAnotherListenersWhileTheFirstIsOpen) {
  auto first = Open(Tcp("127.0.0.1"));
  ASSERT_TRUE(first);
  const uint16_t port = first->address().port;
  first->FreeAddress();
  Address again = Tcp("127.0.0.1");
  again.port = port;
  auto second = Open(again);
  ASSERT_TRUE(second);
  EXPECT_EQ(Status::kBroken, first->Accept().status);
  first->Close();
  EXPECT_EQ(Status::kNone, second->Accept().status);
}

TEST(Listener, OpenListenersSkipsOnlyWhatTheMachineLacks) {
  Address missing = Tcp("2001:db8::1", 9998);  // documentation prefix: no machine has this address
  std::vector<std::string> notes;
  std::string error;
  EXPECT_FALSE(OpenListeners({Tcp("127.0.0.1"), missing}, {}, &notes, &error));
  EXPECT_TRUE(Contains(error, "[2001:db8::1]:9998")) << error;

  missing.may_be_skipped = true;
  const auto some = OpenListeners({Tcp("127.0.0.1"), missing}, {}, &notes, &error);
  ASSERT_TRUE(some) << error;
  EXPECT_EQ(1u, some->size());
  ASSERT_EQ(1u, notes.size());
  EXPECT_TRUE(Contains(notes[0], "[2001:db8::1]:9998")) << notes[0];
  EXPECT_EQ("", error);

  EXPECT_FALSE(OpenListeners({missing}, {}, &notes, &error));
  EXPECT_FALSE(error.empty());

  Address taken = (*some)[0].address();
  taken.may_be_skipped = true;
  EXPECT_FALSE(OpenListeners({Tcp("127.0.0.1"), taken}, {}, &notes, &error));
  EXPECT_TRUE(Contains(error, "already in use")) << error;
}

TEST_F(UnixListenerTest, AcceptsAndRemovesItsFile) {
  {
    ListenOptions options;
    options.unix_mode = 0700;
    const auto listener = Open(Unix(path_), options);
    ASSERT_TRUE(listener);
    struct stat status;
    ASSERT_EQ(0, lstat(path_.c_str(), &status));
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(0700u, status.st_mode & 0777u);
    const UniqueFd client = ConnectUnix(path_);
    ASSERT_TRUE(client.valid());
    EXPECT_EQ(Status::kAccepted, listener->Accept().status);
  }
  EXPECT_FALSE(Exists());
}

TEST_F(UnixListenerTest, StaleFileIsReplaced) {
  {
    const UniqueFd dead(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    path_.copy(where.sun_path, sizeof(where.sun_path) - 1);
    ASSERT_EQ(0, bind(dead.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)));
  }
  ASSERT_TRUE(Exists());  // no process listens, but the file has stayed
  const auto listener = Open(Unix(path_));
  ASSERT_TRUE(listener);
  EXPECT_TRUE(ConnectUnix(path_).valid());
}

TEST_F(UnixListenerTest, LivingSocketIsLeftAlone) {
  const auto listener = Open(Unix(path_));
  ASSERT_TRUE(listener);
  const std::string failure = OpenFailure(Unix(path_));
  EXPECT_TRUE(Contains(failure, path_ + ": Address already in use (check handlersocket_socket)"))
      << failure;
  EXPECT_TRUE(ConnectUnix(path_).valid());
}

TEST_F(UnixListenerTest, BusySocketIsLeftAlone) {
  ListenOptions options;
  options.backlog = 0;
  const auto listener = Open(Unix(path_), options);
  ASSERT_TRUE(listener);
  const UniqueFd fills_the_backlog = ConnectUnix(path_);
  ASSERT_TRUE(fills_the_backlog.valid());
  EXPECT_TRUE(Contains(OpenFailure(Unix(path_)), "Address already in use"));
  EXPECT_TRUE(Exists());
}

TEST_F(UnixListenerTest, OtherFilesAreLeftAlone) {
  UniqueFd file(open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  ASSERT_TRUE(file.valid());
  const std::string failure = OpenFailure(Unix(path_));
  EXPECT_TRUE(Contains(failure, "not a socket")) << failure;
  EXPECT_TRUE(Exists());
}

TEST_F(UnixListenerTest, AFailureNamesTheVariableThatThePathComesFrom) {
  const std::string path = directory_ + "/none/hs.sock";
  for (const auto& [origin, name] : {std::pair{Address::Origin::kAddress, "handlersocket_address"},
                                     std::pair{Address::Origin::kPort, "handlersocket_port"},
                                     std::pair{Address::Origin::kSocket, "handlersocket_socket"}}) {
    const std::string failure = OpenFailure(Unix(path, origin));
    EXPECT_TRUE(Contains(failure, std::string("(check ") + name + ")")) << failure;
  }
}

TEST_F(UnixListenerTest, ReplacedFileIsNotRemoved) {
  auto listener = Open(Unix(path_));
  ASSERT_TRUE(listener);
  ASSERT_EQ(0, unlink(path_.c_str()));
  const auto successor = Open(Unix(path_));
  ASSERT_TRUE(successor);
  listener->Close();
  EXPECT_TRUE(ConnectUnix(path_).valid());
}

TEST_F(UnixListenerTest, MovedListenerKeepsItsFile) {
  auto listener = Open(Unix(path_));
  ASSERT_TRUE(listener);
  {
    Listener moved(std::move(*listener));
    listener.reset();
    EXPECT_TRUE(ConnectUnix(path_).valid());
  }
  EXPECT_FALSE(Exists());
}

TEST_F(UnixListenerTest, PathTooLongOrDirectoryMissing) {
  const std::string too_long = OpenFailure(Unix("/tmp/" + std::string(200, 'x')));
  EXPECT_TRUE(Contains(too_long, "at most 107 bytes")) << too_long;
  const std::string missing = OpenFailure(Unix(directory_ + "/none/hs.sock"));
  EXPECT_TRUE(Contains(missing, "No such file or directory")) << missing;
}

}  // namespace
}  // namespace rowsocket::net
