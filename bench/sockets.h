// Client sockets of the generator.
//
// Threads: pure functions.
// Errors: an invalid descriptor, or false, with errno set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/options.h"
#include "net/unique_fd.h"

namespace rowsocket::bench {

/// Connects to the address in the options, and waits for that. Returns a blocking socket with
/// TCP_NODELAY.
net::UniqueFd ConnectTo(const Options& options);

bool SendAll(int fd, const char* bytes, size_t count);
bool SetNonBlocking(int fd);
/// Limits how long a blocking receive waits.
bool SetReceiveTimeout(int fd, int seconds);

/// Raises this process's limit of descriptors as far as it is allowed to.
void RaiseDescriptorLimit();

int64_t NowNs();

}  // namespace rowsocket::bench
