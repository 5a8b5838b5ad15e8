/* Threads that cannot be had, as where the limit of processes is reached.
 *
 * Preloaded into a server (LD_PRELOAD, with ROWSOCKET_NOTHREADS naming a file), it refuses each new thread while
 * the file exists. no_threads.py makes the file.
 *
 * Threads: any.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

typedef int create_function(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int pthread_create(pthread_t* restrict thread, const pthread_attr_t* restrict attributes, void* (*body)(void*),
                   void* restrict argument) {
  const char* const path = getenv("ROWSOCKET_NOTHREADS");
  if (path != NULL && access(path, F_OK) == 0) return EAGAIN;
  create_function* const function = (create_function*)dlsym(RTLD_NEXT, "pthread_create");
  return function(thread, attributes, body, argument);
}
