// Versions that are told to clients.
#pragma once

namespace rowsocket::model {

/// The version of this release, or of the next one. The build and scripts/package read this line.
inline constexpr char kVersion[] = "0.1.0";

/// The version that clients of memcached get: that of the memcached with which the vectors were
/// compared.
inline constexpr char kMemcachedVersion[] = "1.6.45";

}  // namespace rowsocket::model
