#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <system_error>
#include <utility>

namespace rowsocket::net {

namespace {

constexpr std::string_view kSeparators = ", \t\r\n";

struct FreeAddrinfo {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddrinfoList = std::unique_ptr<addrinfo, FreeAddrinfo>;

/// One parse: collects addresses until the first error.
class ListParser {
 public:
  ListParser(std::string_view port, const VariableNames& variables, std::string* error)
      : port_text_(port), variables_(variables), error_(error) {}

  bool AddItem(std::string_view item) {
    if (item == "/") return AddPath(port_text_, Address::Origin::kPort);
    if (item.front() == '/') return AddPath(item, Address::Origin::kAddress);
    if (!ParsePort()) return false;
    if (item == "*") {
      AddTcp("0.0.0.0", true);
      AddTcp("::", true);
      return true;
    }
    return AddHost(item);
  }

  std::vector<Address> Take() { return std::move(addresses_); }

 private:
  bool Fail(std::string_view variable, std::string_view text) {
    error_->assign(variable).append(": ").append(text);
    return false;
  }

  /// Accepts only decimal digits: from_chars would accept any text after the digits.
  bool ParsePort() {
    uint16_t port = 0;
    const char* end = port_text_.data() + port_text_.size();
    const auto [rest, problem] = std::from_chars(port_text_.data(), end, port);
    if (problem != std::errc() || rest != end || port == 0) {
      return Fail(variables_.port,
                  "'" + std::string(port_text_) + "' is not a port number (1 to 65535)");
    }
    port_ = port;
    return true;
  }

  bool AddPath(std::string_view path, Address::Origin origin) {
    if (path.empty()) return Fail(variables_.Of(origin), "the path of the UNIX socket is missing");
    Address address;
    address.kind = Address::Kind::kUnix;
    address.path = path;
    address.path_origin = origin;
    Add(std::move(address));
    return true;
  }

  bool AddHost(std::string_view item) {
    std::string host(item);
    const bool bracketed = host.front() == '[';
    if (bracketed) {
      if (host.size() < 3 || host.back() != ']') {
        return Fail(variables_.address, "'" + host + "' has no closing bracket");
      }
      host = host.substr(1, host.size() - 2);
    }
    addrinfo hints{};
    hints.ai_family = bracketed ? AF_INET6 : AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | (bracketed ? AI_NUMERICHOST : 0);
    addrinfo* found = nullptr;
    const int problem = getaddrinfo(host.c_str(), nullptr, &hints, &found);
    const AddrinfoList owner(found);
    if (problem != 0) {
      const std::string reason =
          problem == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(problem);
      return Fail(variables_.address, "cannot resolve '" + std::string(item) + "': " + reason);
    }
    const bool several = found->ai_next != nullptr;
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
      char numeric[NI_MAXHOST];
      if (getnameinfo(entry->ai_addr, entry->ai_addrlen, numeric, sizeof(numeric), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
        AddTcp(numeric, several);
      }
    }
    return true;
  }

  void AddTcp(std::string host, bool may_be_skipped) {
    Address address;
    address.host = std::move(host);
    address.port = port_;
    address.may_be_skipped = may_be_skipped;
    Add(std::move(address));
  }

  void Add(Address address) {
    // Binding an address twice would fail. An address that the list also names explicitly must not
    // be skipped silently.
    for (Address& known : addresses_) {
      if (ToText(known) != ToText(address)) continue;
      known.may_be_skipped &= address.may_be_skipped;
      return;
    }
    addresses_.push_back(std::move(address));
  }

  const std::string_view port_text_;
  const VariableNames& variables_;
  std::string* const error_;
  uint16_t port_ = 0;
  std::vector<Address> addresses_;
};

}  // namespace

std::optional<std::vector<Address>> ParseAddresses(std::string_view address_list,
                                                   std::string_view port,
                                                   const VariableNames& variables,
                                                   std::string* error) {
  ListParser parser(port, variables, error);
  size_t items = 0;
  for (size_t begin = 0;;) {
    begin = address_list.find_first_not_of(kSeparators, begin);
    if (begin == std::string_view::npos) break;
    const size_t end =
        std::min(address_list.find_first_of(kSeparators, begin), address_list.size());
    if (!parser.AddItem(address_list.substr(begin, end - begin))) return std::nullopt;
    begin = end;
    ++items;
  }
  if (items == 0 && !parser.AddItem("127.0.0.1")) return std::nullopt;
  std::vector<Address> addresses = parser.Take();
  if (addresses.empty()) {
    *error = variables.address + ": no usable address in '" + std::string(address_list) + "'";
    return std::nullopt;
  }
  return addresses;
}

bool IsLoopback(const Address& address) {
  if (address.kind == Address::Kind::kUnix) return true;
  constexpr uint8_t kLoopbackNet = 127;
  in_addr v4;
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == kLoopbackNet;
  }
  in6_addr v6;
  if (inet_pton(AF_INET6, address.host.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == kLoopbackNet;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string ToText(const Address& address) {
  if (address.kind == Address::Kind::kUnix) return address.path;
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace rowsocket::net
