/* A time of day that jumps while a server runs, as an operator or a virtual machine's host may do.
 *
 * Preloaded into a server (LD_PRELOAD, with ROWSOCKET_STEPCLOCK naming a file of 8 bytes), it adds the
 * seconds in that file, an int64_t, to the time of day that the server reads. Monotonic clocks do not change.
 * The kernel ends a wait until a time of day by its own clock, so the seconds are subtracted from that time.
 * step_clock.py writes the file.
 *
 * Threads: any.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* In s; smaller times are of a monotonic clock, which counts from the machine's start: this is over 30 years. */
enum { kEarliestDay = 1000000000 };

static const volatile int64_t* step;

typedef int wait_function(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);

__attribute__((constructor)) static void map_file(void) {
  const char* const path = getenv("ROWSOCKET_STEPCLOCK");
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped = mmap(NULL, sizeof(*step), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) step = mapped;
  close(file);
}

static int64_t seconds(void) { return step == NULL ? 0 : *step; }

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += seconds();
  return (int)result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  const long result = syscall(SYS_gettimeofday, now, zone);
  if (result == 0) now->tv_sec += seconds();
  return (int)result;
}

time_t time(time_t* result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                           const struct timespec* restrict until) {
  static wait_function* real;
  wait_function* function = __atomic_load_n(&real, __ATOMIC_RELAXED);
  if (function == NULL) {
    /* The unversioned name may find the function of an older layout of conditions. */
    function = (wait_function*)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (function == NULL) function = (wait_function*)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    __atomic_store_n(&real, function, __ATOMIC_RELAXED);
  }
  struct timespec kernels = *until;
  if (kernels.tv_sec >= kEarliestDay) kernels.tv_sec -= seconds();
  return function(condition, mutex, &kernels);
}
