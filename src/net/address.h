// Turns the texts of a plugin's variables (`resp_address` and `resp_port`, for example) into the
// addresses to listen on.
//
// The list:  list    := [ item { (',' | blank) item } ]       empty list: 127.0.0.1
//            item    := '*' | ipv4 | ipv6 | '[' ipv6 ']' | name | '/' | path
//
// '*' is 0.0.0.0 and ::. A name stands for every address that it resolves to. '/' means that the
// port's text is the path of a UNIX socket; a longer item that starts with '/' is such a path.
//
// Threads: pure functions; resolving a name may block, so parse before any worker starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::net {

struct Address {
  enum class Kind : uint8_t { kTcp, kUnix };
  /// Which of a port's variables a path comes from: a member of VariableNames.
  enum class Origin : uint8_t { kAddress, kPort, kSocket };

  Kind kind = Kind::kTcp;
  std::string host;   ///< TCP: numeric IPv4 or IPv6 address without brackets.
  uint16_t port = 0;  ///< TCP: 0 lets the kernel choose (never the result of parsing).
  std::string path;   ///< UNIX: path of the socket file.
  /// The address is one of several that `*` or a name stands for. A machine that lacks its family,
  /// or an IPv6 address itself, listens on the others.
  bool may_be_skipped = false;
  Origin path_origin = Origin::kAddress;

  bool operator==(const Address&) const = default;
};

/// The system variables that error texts tell the user to change.
struct VariableNames {
  std::string address;
  std::string port;
  std::string socket;

  const std::string& Of(Address::Origin origin) const {
    return origin == Address::Origin::kAddress ? address
           : origin == Address::Origin::kPort  ? port
                                               : socket;
  }
};

/// Returns the addresses in the order given, without repetition, at least one. On failure returns
/// nothing, and `*error` says what is wrong with which variable.
std::optional<std::vector<Address>> ParseAddresses(std::string_view address_list,
                                                   std::string_view port,
                                                   const VariableNames& variables,
                                                   std::string* error);

/// Whether only this machine can reach the address: 127.0.0.0/8, also mapped into IPv6, ::1, UNIX.
bool IsLoopback(const Address& address);

/// The address as users write it: `127.0.0.1:9998`, `[::1]:9998`, `/run/hs.sock`.
std::string ToText(const Address& address);

}  // namespace rowsocket::net
