// How often logins from a source have failed of late, so that guessing passwords is slow.
//
// Flow:    Begin -> the login is checked -> [ Fail ] -> End
// Threads: one owner at a time (the login desk's mutex). Limits: kLoginSourcesMax sources; those
// without a failure for kLoginForgetMs and without a login under way are forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "net/peer.h"

namespace rowsocket::exec {

/// An IPv4 address, the network (/64) of an IPv6 address, or a user of this machine.
struct LoginSource {
  enum class Kind : uint8_t { kIpv4, kIpv6, kUser };
  Kind kind = Kind::kIpv4;
  uint64_t number = 0;

  static LoginSource Of(const net::Peer& peer);
  bool operator==(const LoginSource&) const = default;
};

class LoginSources {
 public:
  /// False, with nothing done, when so many logins of the source, or of so many sources, are under
  /// way that this one has to wait.
  bool Begin(const LoginSource& source, int64_t now_ms);
  /// Returns the milliseconds after which a failure is answered.
  int64_t Fail(const LoginSource& source, int64_t now_ms);
  void End(const LoginSource& source, int64_t now_ms);

  size_t size() const { return places_.size(); }

 private:
  struct Entry {
    LoginSource source;
    uint32_t under_way = 0;
    uint32_t failures = 0;
    int64_t failed_ms = 0;
  };
  struct Hash {
    size_t operator()(const LoginSource& source) const {
      constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
      return (source.number + static_cast<uint64_t>(source.kind)) * kOdd >> 16;
    }
  };
  bool MakeRoom();

  std::list<Entry> entries_;  ///< In the order of the last failure; those without one are in front.
  std::unordered_map<LoginSource, std::list<Entry>::iterator, Hash> places_;
};

}  // namespace rowsocket::exec
