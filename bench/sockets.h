// Client sockets of the generator.
//
// Threads: pure functions. Errors: an invalid descriptor with errno set; false from the others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/options.h"
#include "net/unique_fd.h"

namespace rowsocket::bench {

/// A connected socket to the address in the options, blocking, with TCP_NODELAY. Waits for connect.
net::UniqueFd ConnectTo(const Options& options);

bool SendAll(int fd, const char* bytes, size_t count);
bool SetNonBlocking(int fd);
/// Limits how long a blocking receive waits.
bool SetReceiveTimeout(int fd, int seconds);

/// Raises the limit of descriptors of this process as far as it may.
void RaiseDescriptorLimit();

int64_t NowNs();

}  // namespace rowsocket::bench
