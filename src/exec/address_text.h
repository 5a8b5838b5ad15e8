// The text of a client's address, as ConnectionBook::AddressOf makes it.
//
// Threads: pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace rowsocket::exec {

/// The address without its port, and without the brackets of IPv6.
inline std::string_view HostOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return address;
  address = address.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  return address;
}

/// The port of an address; 0: the address has none, because it is that of a UNIX socket.
inline uint16_t PortOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  uint16_t port = 0;
  if (colon != std::string_view::npos)
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  return port;
}

}  // namespace rowsocket::exec
