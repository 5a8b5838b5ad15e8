#include "net/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <memory>
#include <system_error>
#include <utility>

namespace rowsocket::net {

namespace {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

std::string CannotListen(const Address& address, const std::string& cause,
                         const std::string& advice) {
  return "cannot listen on " + ToText(address) + ": " + cause + " (" + advice + ")";
}

/// Tells the user what to do about a failed bind or listen.
std::string TcpAdvice(int error, const VariableNames& variables) {
  switch (error) {
    case EADDRINUSE:
      return "something else listens there; change " + variables.port;
    case EACCES:
      return "the server's user may not use that port; change " + variables.port;
    case EADDRNOTAVAIL:
      return "no interface of this machine has that address; change " + variables.address;
    default:
      return "check " + variables.address + " and " + variables.port;
  }
}

bool MachineLacks(const Address& address, int error) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return error == EAFNOSUPPORT || (v6 && error == EADDRNOTAVAIL);
}

/// A size of 0 keeps the kernel's default; the kernel corrects sizes that it does not like.
void SetBufferSizes(int fd, const ListenOptions& options) {
  const auto set = [fd](int option, int bytes) {
    if (bytes > 0) setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof(bytes));
  };
  set(SO_SNDBUF, options.send_buffer_bytes);
  set(SO_RCVBUF, options.receive_buffer_bytes);
}

/// The port of a bound socket.
uint16_t BoundPort(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

/// Creates, binds and listens; returns 0 or the errno of the call that failed.
int BindTcp(const addrinfo& where, const ListenOptions& options, UniqueFd* fd) {
  fd->Reset(socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd->valid()) return errno;
  const int on = 1;
  // Lets a restarted server bind while old connections are in TIME_WAIT.
  setsockopt(fd->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Accepted sockets inherit this, which saves a system call for each.
  setsockopt(fd->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // Without this option 0.0.0.0 and :: could not both be bound.
  if (where.ai_family == AF_INET6) {
    setsockopt(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  SetBufferSizes(fd->get(), options);
  if (bind(fd->get(), where.ai_addr, where.ai_addrlen) != 0) return errno;
  if (listen(fd->get(), options.backlog) != 0) return errno;
  return 0;
}

/// Makes the path free: removes a socket file that nobody listens on. True when bind may try.
bool RemoveStaleSocket(const sockaddr_un& where, std::string* cause) {
  struct stat status;
  if (lstat(where.sun_path, &status) != 0) {
    if (errno == ENOENT) return true;
    *cause = ErrnoText(errno);
    return false;
  }
  if (!S_ISSOCK(status.st_mode)) {
    *cause = "there is a file of that name that is not a socket";
    return false;
  }
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe.valid()) {
    *cause = ErrnoText(errno);
    return false;
  }
  const bool answered =
      connect(probe.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0;
  if (answered || errno != ECONNREFUSED) {  // EAGAIN: somebody listens and is busy
    *cause = answered || errno == EAGAIN ? ErrnoText(EADDRINUSE) : ErrnoText(errno);
    return false;
  }
  if (unlink(where.sun_path) != 0 && errno != ENOENT) {
    *cause = ErrnoText(errno);
    return false;
  }
  return true;
}

}  // namespace

std::optional<Listener> Listener::Open(const Address& address, const ListenOptions& options,
                                       OpenError* error) {
  Listener listener(address);
  const bool opened = address.kind == Address::Kind::kUnix ? listener.OpenUnix(options, error)
                                                           : listener.OpenTcp(options, error);
  if (!opened) return std::nullopt;
  return listener;
}

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this == &other) return *this;
  Close();
  address_ = std::move(other.address_);
  fd_ = std::move(other.fd_);
  file_device_ = other.file_device_;
  file_inode_ = other.file_inode_;
  return *this;
}

bool Listener::OpenTcp(const ListenOptions& options, OpenError* error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int problem =
      getaddrinfo(address_.host.c_str(), std::to_string(address_.port).c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  if (problem != 0) {
    error->text =
        CannotListen(address_, gai_strerror(problem), "check " + options.variables.address);
    return false;
  }
  const int failure = BindTcp(*found, options, &fd_);
  if (failure != 0) {
    fd_.Reset();
    error->text = CannotListen(address_, ErrnoText(failure), TcpAdvice(failure, options.variables));
    error->machine_lacks_address = MachineLacks(address_, failure);
    return false;
  }
  address_.port = BoundPort(fd_.get());
  return true;
}

bool Listener::OpenUnix(const ListenOptions& options, OpenError* error) {
  const auto fail = [&](const std::string& cause) {
    fd_.Reset();
    error->text =
        CannotListen(address_, cause, "check " + options.variables.Of(address_.path_origin));
    return false;
  };
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (address_.path.size() >= sizeof(where.sun_path)) {
    return fail("a path of a UNIX socket is at most " + std::to_string(sizeof(where.sun_path) - 1) +
                " bytes long");
  }
  memcpy(where.sun_path, address_.path.data(), address_.path.size());
  std::string cause;
  if (!RemoveStaleSocket(where, &cause)) return fail(cause);
  fd_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_.valid()) return fail(ErrnoText(errno));
  SetBufferSizes(fd_.get(), options);
  if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0) {
    return fail(ErrnoText(errno));
  }
  struct stat status;
  if (lstat(where.sun_path, &status) != 0) return fail(ErrnoText(errno));
  file_device_ = status.st_dev;
  file_inode_ = status.st_ino;
  // Nobody can connect before listen, so the permissions are in force from the first connection;
  // umask would do it in one step, but for all threads of the server.
  if (chmod(where.sun_path, options.unix_mode) != 0 || listen(fd_.get(), options.backlog) != 0) {
    const int failure = errno;
    unlink(where.sun_path);
    return fail(ErrnoText(failure));
  }
  return true;
}

void Listener::ShutDown() const { ::shutdown(fd_.get(), SHUT_RDWR); }

void Listener::RemoveFile() const {
  if (address_.kind != Address::Kind::kUnix) return;
  struct stat status;
  const bool ours = lstat(address_.path.c_str(), &status) == 0 && status.st_dev == file_device_ &&
                    status.st_ino == file_inode_;
  if (ours) unlink(address_.path.c_str());
}

void Listener::Close() {
  if (!fd_.valid()) return;
  RemoveFile();
  fd_.Reset();
}

void Listener::FreeAddress() const {
  RemoveFile();
  ShutDown();
}

Listener::Accepted Listener::Accept() const {
  UniqueFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.valid()) return {AcceptStatus::kAccepted, std::move(fd), 0};
  const int error = errno;
  switch (error) {
    case EAGAIN:
      return {AcceptStatus::kNone, {}, error};
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return {AcceptStatus::kNoResources, {}, error};
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
      return {AcceptStatus::kBroken, {}, error};
    default:
      // The failure is that of one connection (ECONNABORTED, EPROTO, a network that went down),
      // which is now off the queue.
      return {AcceptStatus::kTransient, {}, error};
  }
}

std::optional<std::vector<Listener>> OpenListeners(const std::vector<Address>& addresses,
                                                   const ListenOptions& options,
                                                   std::vector<std::string>* notes,
                                                   std::string* error) {
  std::vector<Listener> listeners;
  for (const Address& address : addresses) {
    Listener::OpenError failure;
    std::optional<Listener> listener = Listener::Open(address, options, &failure);
    if (listener) {
      listeners.push_back(std::move(*listener));
    } else if (address.may_be_skipped && failure.machine_lacks_address) {
      notes->push_back(failure.text);
      *error = std::move(failure.text);
    } else {
      *error = std::move(failure.text);
      return std::nullopt;
    }
  }
  if (listeners.empty()) return std::nullopt;  // *error has the last address that was skipped
  error->clear();
  return listeners;
}

}  // namespace rowsocket::net
