// The text of a client's address, as ConnectionBook::AddressOf makes it.
//
// Threads: pure.
#pragma once

#include <string_view>

namespace rowsocket::exec {

/// Without its port, and without the brackets of IPv6.
inline std::string_view HostOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return address;
  address = address.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  return address;
}

}  // namespace rowsocket::exec
