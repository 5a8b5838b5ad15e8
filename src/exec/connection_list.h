// The facts about each connection, collected from the workers that own the connections, for the
// table information_schema.ROWSOCKET_CONNECTIONS.
//
// Flow: a list for some workers -> each worker's inbox -> the worker: Add ... the asker: Await
// Threads: Add on the workers' threads, once each; Await on the asker's.
// Lifetime: shared, because a late worker may add to a list that nobody awaits any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace rowsocket::exec {

/// The state of a connection whose worker is in a long turn, and does not tell.
inline constexpr const char* kUnknownState = "worker busy";
/// The state of a connection that the handshake thread has.
inline constexpr const char* kHandshakeState = "handshake";

struct ConnectionInfo {
  uint64_t id = 0;      ///< The connection's number in the ConnectionBook.
  std::string name;     ///< The name that the client has given itself; may be empty.
  std::string state;    ///< "idle", or what its next request waits for.
  std::string mode;     ///< PortSettings::mode.
  std::string account;  ///< user@host, as SQL shows accounts; empty: let in without one.
  std::string address;
  uint16_t port = 0;  ///< The client's port; 0 for a UNIX socket.
  // The three texts about TLS are empty if what passes is not encrypted, tls_subject also if
  // the client has shown no certificate.
  std::string tls_version;
  std::string tls_cipher;
  std::string tls_subject;
  int64_t age_ms = 0;
  int64_t idle_ms = 0;
  uint64_t requests = 0;
  uint64_t errors = 0;
  uint64_t buffered_bytes = 0;
};

class ConnectionList {
 public:
  /// `has_addresses`: the addresses of clients are wanted, for which each is looked up
  /// in the ConnectionBook.
  explicit ConnectionList(size_t workers, bool has_addresses = true)
      : has_addresses_(has_addresses), awaited_(workers) {}

  bool has_addresses() const { return has_addresses_; }

  void Add(std::vector<ConnectionInfo> rows) {
    const base::MutexLock lock(mutex_);
    std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
    if (--awaited_ == 0) complete_.NotifyAll();
  }

  /// Takes the rows that have come when all workers have added theirs, or `at_most` is over: a
  /// worker that is in a long turn may be missing.
  std::vector<ConnectionInfo> Await(std::chrono::milliseconds at_most) {
    base::MutexLock lock(mutex_);
    complete_.WaitFor(lock, at_most, [this]() REQUIRES(mutex_) { return awaited_ == 0; });
    return std::exchange(rows_, {});
  }

 private:
  const bool has_addresses_;
  base::Mutex mutex_;
  base::Condition complete_;
  size_t awaited_ GUARDED_BY(mutex_);
  std::vector<ConnectionInfo> rows_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::exec
