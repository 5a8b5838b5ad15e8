// Which errors of recv and send only mean "not now".
#pragma once

#include <cerrno>

namespace rowsocket::net {

/// Whether a call with this error is to be made again later: the connection has not failed.
inline bool IsWouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace rowsocket::net
