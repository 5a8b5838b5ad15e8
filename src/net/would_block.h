// Which errors of recv and send say no more than "not now".
#pragma once

#include <cerrno>

namespace rowsocket::net {

/// A call that fails with this error is made again later: the connection has not failed.
inline bool IsWouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace rowsocket::net
