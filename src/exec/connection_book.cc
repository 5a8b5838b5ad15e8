#include "exec/connection_book.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "exec/address_text.h"
#include "net/peer.h"

namespace rowsocket::exec {

namespace {

std::string TextOf(const net::Peer& end) {
  std::string text = net::AddressText(end);
  if (end.is_unix) return text;
  const bool is_v6 = text.find(':') != text.npos;
  return (is_v6 ? "[" + text + "]" : text) + ":" + std::to_string(end.port);
}

}  // namespace

ConnectionBook& ConnectionBook::Shared() {
  // Never freed: connections may end while the library is taken down.
  static ConnectionBook* const book = new ConnectionBook;
  return *book;
}

uint64_t ConnectionBook::Enter(int fd, const char* plugin, const std::string& mode) {
  std::string address = TextOf(net::PeerOf(fd));
  const base::MutexLock lock(mutex_);
  entries_.emplace_hint(entries_.end(), last_id_ + 1,
                        Entry{fd, plugin, mode, std::move(address), /*is_in_handshake=*/false});
  return ++last_id_;
}

void ConnectionBook::Leave(uint64_t id) {
  const base::MutexLock lock(mutex_);
  entries_.erase(id);
}

void ConnectionBook::SetHandshake(uint64_t id, bool is_in_handshake) {
  const base::MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second.is_in_handshake = is_in_handshake;
}

const ConnectionBook::Entry* ConnectionBook::Find(const char* plugin, uint64_t id) {
  const auto found = entries_.find(id);
  const bool is_its = found != entries_.end() && strcmp(found->second.plugin, plugin) == 0;
  return is_its ? &found->second : nullptr;
}

bool ConnectionBook::Has(const char* plugin, uint64_t id) {
  const base::MutexLock lock(mutex_);
  return Find(plugin, id) != nullptr;
}

bool ConnectionBook::End(const char* plugin, uint64_t id) {
  const base::MutexLock lock(mutex_);
  const Entry* const entry = Find(plugin, id);
  if (entry != nullptr) shutdown(entry->fd, SHUT_RDWR);
  return entry != nullptr;
}

std::string ConnectionBook::AddressOf(uint64_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::string() : found->second.address;
}

std::string ConnectionBook::OwnAddressOf(uint64_t id) {
  const base::MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::string() : TextOf(net::OwnEndOf(found->second.fd));
}

std::vector<ConnectionInfo> ConnectionBook::Others(const char* plugin,
                                                   const std::vector<ConnectionInfo>& known,
                                                   bool has_addresses) {
  std::vector<uint64_t> ids;
  ids.reserve(known.size());
  for (const ConnectionInfo& info : known) ids.push_back(info.id);
  std::sort(ids.begin(), ids.end());
  std::vector<ConnectionInfo> others;
  const base::MutexLock lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    if (strcmp(entry.plugin, plugin) != 0 || std::binary_search(ids.begin(), ids.end(), id)) {
      continue;
    }
    ConnectionInfo& info = others.emplace_back();
    info.id = id;
    info.mode = entry.mode;
    info.state = entry.is_in_handshake ? kHandshakeState : kUnknownState;
    if (!has_addresses) continue;
    info.address = HostOf(entry.address);
    info.port = PortOf(entry.address);
  }
  return others;
}

}  // namespace rowsocket::exec
