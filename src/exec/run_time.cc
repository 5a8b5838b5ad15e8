#include "exec/run_time.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace rowsocket::exec {

RunTime::~RunTime() {
  if (fd_ >= 0) close(fd_);
}

void RunTime::Open() { fd_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC); }

int64_t RunTime::Us() const {
  char text[128];
  const int fd = fd_.load();
  const ssize_t size = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
  if (size <= 0) return -1;
  text[size] = '\0';
  unsigned long long ran_ns = 0, queued_ns = 0;
  if (sscanf(text, "%llu %llu", &ran_ns, &queued_ns) != 2) return -1;
  return static_cast<int64_t>((ran_ns + queued_ns) / 1000);
}

}  // namespace rowsocket::exec
