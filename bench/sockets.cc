#include "bench/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include <cerrno>
#include <cstring>

namespace rowsocket::bench {
namespace {

union AnyAddress {
  sockaddr any;
  sockaddr_in ipv4;
  sockaddr_in6 ipv6;
  sockaddr_un local;
};

/// Fills `address`. Returns its length; 0 when the options name no address.
socklen_t MakeAddress(const Options& options, AnyAddress* address) {
  *address = {};
  if (!options.socket_path.empty()) {
    if (options.socket_path.size() >= sizeof address->local.sun_path) return 0;
    address->local.sun_family = AF_UNIX;
    memcpy(address->local.sun_path, options.socket_path.data(), options.socket_path.size());
    return sizeof address->local;
  }
  if (inet_pton(AF_INET, options.host.c_str(), &address->ipv4.sin_addr) == 1) {
    address->ipv4.sin_family = AF_INET;
    address->ipv4.sin_port = htons(options.port);
    return sizeof address->ipv4;
  }
  if (inet_pton(AF_INET6, options.host.c_str(), &address->ipv6.sin6_addr) == 1) {
    address->ipv6.sin6_family = AF_INET6;
    address->ipv6.sin6_port = htons(options.port);
    return sizeof address->ipv6;
  }
  return 0;
}

}  // namespace

net::UniqueFd ConnectTo(const Options& options) {
  AnyAddress address;
  const socklen_t length = MakeAddress(options, &address);
  if (length == 0) {
    errno = EINVAL;
    return {};
  }
  net::UniqueFd fd(socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  const int on = 1;
  if (address.any.sa_family != AF_UNIX) {
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (connect(fd.get(), &address.any, length) != 0) return {};
  return fd;
}

bool SendAll(int fd, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    count -= static_cast<size_t>(sent);
  }
  return true;
}

bool SetNonBlocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool SetReceiveTimeout(int fd, int seconds) {
  const timeval timeout = {seconds, 0};
  return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0;
}

void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace rowsocket::bench
