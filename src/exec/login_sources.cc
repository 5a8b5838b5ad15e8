#include "exec/login_sources.h"

#include <netinet/in.h>
#include <string.h>

#include <algorithm>

#include "exec/key_hash.h"
#include "model/limits.h"

namespace rowsocket::exec {

LoginSource LoginSource::FromPeer(const net::Peer& peer, std::string_view user) {
  LoginSource source;
  source.name = HashText(0, user);
  if (peer.is_unix) {
    source.kind = Kind::kUser;
    source.number = peer.uid;
  } else if (peer.address.ss_family == AF_INET6) {
    sockaddr_in6 wide{};
    memcpy(&wide, &peer.address, sizeof(wide));
    source.kind = Kind::kIpv6;
    memcpy(&source.number, wide.sin6_addr.s6_addr, sizeof(source.number));
  } else {
    sockaddr_in plain{};
    memcpy(&plain, &peer.address, sizeof(plain));
    source.number = plain.sin_addr.s_addr;
  }
  return source;
}

bool LoginSources::Queue(const LoginSource& source) {
  Traffic& traffic = addresses_[source.Address()];
  if (traffic.waiting == model::kLoginsWaitingOfAddressMax) return false;
  ++traffic.waiting;
  return true;
}

void LoginSources::Unqueue(const LoginSource& source) {
  const auto address = addresses_.find(source.Address());
  --address->second.waiting;
  ForgetIdle(address);
}

void LoginSources::ForgetIdle(Addresses::iterator address) {
  if (address->second.waiting == 0 && address->second.under_way == 0) addresses_.erase(address);
}

bool LoginSources::Begin(const LoginSource& source, int64_t now_ms) {
  Traffic& traffic = addresses_.at(source.Address());
  if (traffic.in_check == checks_of_address_max_ ||
      traffic.under_way == model::kLoginsOfAddressMax || !BeginSource(source, now_ms)) {
    return false;
  }
  ++traffic.in_check;
  ++traffic.under_way;
  --traffic.waiting;
  return true;
}

bool LoginSources::EndCheck(const LoginSource& source) {
  return addresses_.at(source.Address()).in_check-- == checks_of_address_max_;
}

bool LoginSources::BeginSource(const LoginSource& source, int64_t now_ms) {
  if (const auto found = places_.find(source); found != places_.end()) {
    Entry& entry = *found->second;
    if (entry.under_way == model::kLoginsOfSourceMax) return false;
    if (now_ms - entry.failed_ms > model::kLoginForgetMs) entry.failures = 0;
    ++entry.under_way;
    return true;
  }
  // Memory is taken first, so that no other source is forgotten for one that finds none.
  std::list<Entry> added{{source, 1, 0, now_ms}};
  const auto place = places_.emplace(source, added.begin()).first;
  if (places_.size() > model::kLoginSourcesMax && !MakeRoom()) {
    places_.erase(place);
    return false;
  }
  entries_.splice(entries_.begin(), added);
  return true;
}

// One address makes as many sources as it gives names, so that it can drive out all others in some
// seconds. It then begins with the shortest delay again, and kLoginsOfAddressMax slows it.
bool LoginSources::MakeRoom() {
  const auto unused = std::find_if(entries_.begin(), entries_.end(),
                                   [](const Entry& entry) { return entry.under_way == 0; });
  if (unused == entries_.end()) return false;
  places_.erase(unused->source);
  entries_.erase(unused);
  return true;
}

int64_t LoginSources::Fail(const LoginSource& source, int64_t now_ms) {
  const auto place = places_.at(source);
  Entry& entry = *place;
  const uint32_t doublings = std::min(entry.failures, model::kLoginDelayDoublingsMax);
  ++entry.failures;
  entry.failed_ms = now_ms;
  entries_.splice(entries_.end(), entries_, place);
  return model::kLoginDelayMs << doublings;
}

void LoginSources::End(const LoginSource& source, int64_t now_ms) {
  const auto found = places_.find(source);
  Entry& entry = *found->second;
  const auto address = addresses_.find(source.Address());
  --address->second.under_way;
  ForgetIdle(address);
  --entry.under_way;
  const bool is_old = now_ms - entry.failed_ms > model::kLoginForgetMs;
  if (entry.under_way != 0 || (entry.failures != 0 && !is_old)) return;
  entries_.erase(found->second);
  places_.erase(found);
}

}  // namespace rowsocket::exec
