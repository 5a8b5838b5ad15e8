// How often logins from a source have failed of late, so that guessing passwords is slow. A source
// is an address and a user's name, so that wrong passwords of one application do not delay another
// application of the same machine.
//
// Flow: Queue -> Begin -> the login is checked -> EndCheck -> [ Fail ] -> End
//       or Queue -> Unqueue
// Threads: one owner at a time (the login desk's mutex).
// Errors: Queue and Begin throw std::bad_alloc, and have then changed nothing.
// Limits: kLoginSourcesMax sources. When there are as many, the one without a login under way that
// failed longest ago is forgotten, also if that was a moment ago.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string_view>
#include <unordered_map>

#include "exec/key_hash.h"
#include "net/peer.h"

namespace rowsocket::exec {

/// Where a login comes from (an IPv4 address, the network (/64) of an IPv6 address, or a user of
/// this machine), and the account for which it asks.
struct LoginSource {
  enum class Kind : uint8_t { kIpv4, kIpv6, kUser };
  Kind kind = Kind::kIpv4;
  uint64_t number = 0;
  uint64_t name = 0;  ///< A hash of the name of the account that is asked for.

  static LoginSource FromPeer(const net::Peer& peer, std::string_view user);
  /// The source's address alone.
  LoginSource Address() const { return {kind, number, 0}; }
  bool operator==(const LoginSource&) const = default;

  struct Hash {
    size_t operator()(const LoginSource& source) const {
      return Mix(Mix(source.number + static_cast<uint64_t>(source.kind)) ^ source.name);
    }
  };
};

class LoginSources {
 public:
  /// `checks_of_address_max`: how many logins of one address may be checked at a time.
  explicit LoginSources(uint32_t checks_of_address_max)
      : checks_of_address_max_(checks_of_address_max) {}

  /// Counts a login that has come, and waits. False, and nothing is counted, if
  /// kLoginsWaitingOfAddressMax of its address wait.
  bool Queue(const LoginSource& source);
  /// Forgets a login that waited and is dropped.
  void Unqueue(const LoginSource& source);
  /// Counts a login that waited as being checked. False, and nothing is counted, if it has to
  /// wait longer: its source or its address has as many logins under way as it may, its address has
  /// as many being checked, or kLoginSourcesMax sources have logins under way.
  bool Begin(const LoginSource& source, int64_t now_ms);
  /// Notes that a login has been checked. Returns whether other logins of its address may have
  /// waited for that.
  bool EndCheck(const LoginSource& source);
  /// Counts a failure. Returns after how many milliseconds the failed login is answered.
  int64_t Fail(const LoginSource& source, int64_t now_ms);
  /// Ends a login that was checked: it has its answer.
  void End(const LoginSource& source, int64_t now_ms);

  /// How many sources are remembered.
  size_t size() const { return places_.size(); }

 private:
  struct Entry {
    LoginSource source;
    uint32_t under_way = 0;
    uint32_t failures = 0;
    int64_t failed_ms = 0;
  };
  struct Traffic {
    uint32_t waiting = 0;
    uint32_t under_way = 0;
    uint32_t in_check = 0;  ///< Logins under way that are being checked.
  };
  using Addresses = std::unordered_map<LoginSource, Traffic, LoginSource::Hash>;

  bool BeginSource(const LoginSource& source, int64_t now_ms);
  bool MakeRoom();
  void ForgetIdle(Addresses::iterator address);

  const uint32_t checks_of_address_max_;
  std::list<Entry> entries_;  ///< By last failure; sources without a failure are in front.
  std::unordered_map<LoginSource, std::list<Entry>::iterator, LoginSource::Hash> places_;
  Addresses addresses_;  ///< Addresses with logins that wait or are under way.
};

}  // namespace rowsocket::exec
