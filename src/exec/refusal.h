// Why a connection is not taken.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace rowsocket::exec {

enum class Refusal : uint8_t {
  kConnectionsMax,  ///< As many connections are open as may be.
  kMemory,          ///< Memory has run out.
  kNoDescriptor,    ///< The process has no file descriptor left.
  kDescriptorsMax,  ///< All file descriptors that connections may have are in use.
  kNoMachineFile,   ///< The machine has as many open files as it may have.
  kNotAccepted,     ///< The system does not give the connection, for another reason.
  kNotWatched,      ///< The event loop cannot watch the connection, or a listener.
};
inline constexpr size_t kRefusals = static_cast<size_t>(Refusal::kNotWatched) + 1;

/// Why accept(2) has failed with this errno.
constexpr Refusal WhyNotAccepted(int error) {
  return error == EMFILE   ? Refusal::kNoDescriptor
         : error == ENFILE ? Refusal::kNoMachineFile
                           : Refusal::kNotAccepted;
}

}  // namespace rowsocket::exec
