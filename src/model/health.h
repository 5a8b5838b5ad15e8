// What a server tells load balancers and clients about itself: its role among other servers, what
// it takes right now, and which transactions it has.
//
// Lifetime: the texts are static.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rowsocket::model {

/// The id of a transaction, as MariaDB writes it: domain-server-number.
struct Gtid {
  uint32_t domain = 0;
  uint32_t server = 0;
  uint64_t number = 0;
};

/// Transactions of one source, as MySQL writes them: uuid:first-last, or uuid:tag:first-last.
struct GtidRange {
  std::string_view uuid;
  std::string_view tag;
  uint64_t first = 0;
  uint64_t last = 0;
};

struct Health {
  enum class Role : uint8_t {
    kPrimary,  ///< Does not replicate from another server.
    kReplica,  ///< Has a replication source.
    kGalera,   ///< A node of a Galera cluster.
  };
  Role role = Role::kPrimary;
  /// A replica's threads: "running", "connecting" or "stopped". A node's state in its cluster, by
  /// wsrep's names: "synced", "donor". A primary: "running".
  std::string_view state = "running";
  bool reads = true;
  bool writes = true;
  std::string_view version;
  /// By how many seconds a replica lags, as in Seconds_Behind_Master; without a value while it does
  /// not replicate. 0 without a replication source.
  std::optional<uint64_t> lag_s = 0;

  bool LagIsWithin(uint64_t max_s) const { return lag_s.has_value() && *lag_s <= max_s; }
};

constexpr std::string_view Name(Health::Role role) {
  constexpr std::string_view kNames[] = {"primary", "replica", "galera"};
  static_assert(std::size(kNames) == static_cast<size_t>(Health::Role::kGalera) + 1);
  return kNames[static_cast<size_t>(role)];
}

}  // namespace rowsocket::model
