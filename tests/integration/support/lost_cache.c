/* A disk that forgets: what was written and not flushed can be taken back after the process died, as
 * a power cut would have it.
 *
 * Preloaded into a server (LD_PRELOAD, with ROWSOCKET_LOSTCACHE naming a directory), it notes before every
 * write to a regular file the bytes that were there, in one undo file per inode, and after every fsync or
 * fdatasync that all writes noted before its start are safe. lost_cache.py takes the other writes back. The
 * notes on a file that is deleted are dropped, because the next new file may get its inode.
 *
 * In InnoDB's data files, writes during such a flush count as safe, too. A disk does not promise that, but
 * MariaDB (10.11.18) needs it: if two threads flush at a time, fil_space_t::flush_low() takes the space from
 * the list of spaces to flush although a page was written after the start of its fsync, and a checkpoint may
 * follow, so that a power cut loses the page with its redo log. The server does that even without this
 * library. Its logs get only what a disk promises.
 *
 * It can also refuse: while the file `refuse` next to that directory holds "PART ERRNO", writes to files
 * whose path contains PART, and their growth by fallocate, fail with that number, as on a full or broken
 * disk. And it can be slow: while the file `slow` next to that directory holds a number, each flush takes so
 * many milliseconds more.
 *
 * Undo file: header { u64 safe_bytes }, then records { u64 offset, u64 length, u64 old_size } each
 * followed by the old bytes that lay in the written range.
 * Threads: any. Limits: kFilesMax descriptors; writes through mmap or aio are not seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kFilesMax = 4096 };

struct undo {
  dev_t device;
  ino_t inode;
  int descriptor;
  uint64_t end;
  uint64_t safe; /* A maximum: of several flushes at a time, the last to end may have begun first. */
};

struct record {
  uint64_t offset, length, old_size;
};

static const char* directory;
static struct undo undos[kFilesMax];
static int undo_count;
/* Writers share it and a flush takes it alone, so that it sees no write that is noted but not yet done. */
static pthread_rwlock_t writes = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t notes = PTHREAD_MUTEX_INITIALIZER;

static ssize_t (*real_write)(int, const void*, size_t);
static ssize_t (*real_pwrite)(int, const void*, size_t, off64_t);
static int (*real_fallocate)(int, int, off64_t, off64_t);
static int (*real_posix_fallocate)(int, off64_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char*);

static void* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

__attribute__((constructor)) static void begin(void) {
  char name[32] = "";
  int comm = open("/proc/self/comm", O_RDONLY);
  if (comm >= 0) {
    if (read(comm, name, sizeof name - 1) < 0) name[0] = 0;
    close(comm);
  }
  real_write = next("write");
  real_pwrite = next("pwrite64");
  real_fallocate = next("fallocate64");
  real_posix_fallocate = next("posix_fallocate64");
  real_fsync = next("fsync");
  real_fdatasync = next("fdatasync");
  real_unlink = next("unlink");
  if (strncmp(name, "mariadbd", 8) == 0 || strncmp(name, "mysqld", 6) == 0) directory = getenv("ROWSOCKET_LOSTCACHE");
}

/* The server's own handler would write to its log, and so come here again. */
static void give_up(const char* why) {
  perror(why);
  signal(SIGABRT, SIG_DFL);
  abort();
}

/* REQUIRES: notes is held. */
static struct undo* find(const struct stat64* status) {
  for (int i = 0; i < undo_count; ++i) {
    if (undos[i].inode == status->st_ino && undos[i].device == status->st_dev) return &undos[i];
  }
  if (undo_count == kFilesMax) give_up("lost_cache: too many files");
  char path[4096];
  snprintf(path, sizeof path, "%s/%llu", directory, (unsigned long long)status->st_ino);
  struct undo* undo = &undos[undo_count];
  /* Programs of a server's start make undo files as root, which the server may need as another user. */
  const mode_t mask = umask(0);
  undo->descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  umask(mask);
  if (undo->descriptor < 0) give_up("lost_cache: undo file");
  undo->device = status->st_dev;
  undo->inode = status->st_ino;
  const uint64_t header = sizeof(uint64_t);
  if (real_pwrite(undo->descriptor, &header, sizeof header, 0) != sizeof header) {
    give_up("lost_cache: header");
  }
  undo->end = header;
  undo->safe = header;
  ++undo_count;
  return undo;
}

static void note(int fd, off64_t offset, size_t length) {
  struct stat64 status;
  if (fstat64(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const int reader = open(link, O_RDONLY | O_CLOEXEC);
  if (reader < 0) return; /* Deleted already: nothing to put back. */
  struct record record = {(uint64_t)offset, length, (uint64_t)status.st_size};
  char* old = malloc(sizeof record + length);
  if (old == NULL) give_up("lost_cache: memory");
  pthread_mutex_lock(&notes);
  ssize_t had = pread64(reader, old + sizeof record, length, offset);
  if (had < 0) had = 0;
  memset(old + sizeof record + had, 0, length - (size_t)had);
  memcpy(old, &record, sizeof record);
  struct undo* undo = find(&status);
  const size_t bytes = sizeof record + length;
  if (real_pwrite(undo->descriptor, old, bytes, (off64_t)undo->end) != (ssize_t)bytes) {
    give_up("lost_cache: note");
  }
  undo->end += bytes;
  pthread_mutex_unlock(&notes);
  free(old);
  close(reader);
}

static int is_regular(int fd) {
  struct stat64 status;
  return fstat64(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* The error number with which writes to this file are to fail; 0: none. */
static int refusal(int fd) {
  char path[4096], link[64], part[256];
  int number = 0;
  snprintf(path, sizeof path, "%s/../refuse", directory);
  FILE* file = fopen(path, "re");
  if (file == NULL) return 0;
  const int read = fscanf(file, "%255s %d", part, &number);
  fclose(file);
  if (read != 2) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, part) != NULL ? number : 0;
}

ssize_t pwrite64(int fd, const void* bytes, size_t length, off64_t offset) {
  if (directory == NULL) return real_pwrite(fd, bytes, length, offset);
  if ((errno = refusal(fd)) != 0) return -1;
  pthread_rwlock_rdlock(&writes);
  note(fd, offset, length);
  const ssize_t done = real_pwrite(fd, bytes, length, offset);
  const int error = errno;
  pthread_rwlock_unlock(&writes);
  errno = error;
  return done;
}

ssize_t pwrite(int fd, const void* bytes, size_t length, off_t offset) {
  return pwrite64(fd, bytes, length, offset);
}

ssize_t write(int fd, const void* bytes, size_t length) {
  if (directory == NULL || !is_regular(fd)) return real_write(fd, bytes, length);
  if ((errno = refusal(fd)) != 0) return -1;
  pthread_rwlock_rdlock(&writes);
  const int appends = fcntl(fd, F_GETFL) & O_APPEND;
  note(fd, lseek64(fd, 0, appends ? SEEK_END : SEEK_CUR), length);
  const ssize_t done = real_write(fd, bytes, length);
  const int error = errno;
  pthread_rwlock_unlock(&writes);
  errno = error;
  return done;
}

/* The bytes that it adds need no note: nothing was there. */
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  if (directory != NULL && (errno = refusal(fd)) != 0) return -1;
  return real_fallocate(fd, mode, offset, length);
}

/* Returns the error's number, and leaves errno alone. */
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  const int number = directory != NULL ? refusal(fd) : 0;
  return number != 0 ? number : real_posix_fallocate(fd, offset, length);
}

int posix_fallocate(int fd, off_t offset, off_t length) {
  return posix_fallocate64(fd, offset, length);
}

/* REQUIRES: notes is held. */
static void make_safe(struct undo* undo, uint64_t safe) {
  if (safe <= undo->safe) return;
  undo->safe = safe;
  if (real_pwrite(undo->descriptor, &safe, sizeof safe, 0) != sizeof safe) give_up("lost_cache: flush");
}

static void wait_if_slow(void) {
  char path[4096];
  int ms = 0;
  snprintf(path, sizeof path, "%s/../slow", directory);
  FILE* file = fopen(path, "re");
  if (file == NULL) return;
  if (fscanf(file, "%d", &ms) != 1) ms = 0;
  fclose(file);
  usleep((useconds_t)ms * 1000);
}

static int is_data_file(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 4) return 0;
  path[length] = 0;
  return strcmp(path + length - 4, ".ibd") == 0 || strstr(path, "/ibdata") != NULL;
}

/* The end of the notes at a moment at which every noted write is done. */
static uint64_t written(struct undo* undo) {
  pthread_rwlock_wrlock(&writes);
  pthread_mutex_lock(&notes);
  const uint64_t end = undo->end;
  pthread_mutex_unlock(&notes);
  pthread_rwlock_unlock(&writes);
  return end;
}

static int flush(int fd, int (*real)(int)) {
  struct stat64 status;
  if (directory == NULL || fstat64(fd, &status) != 0 || !S_ISREG(status.st_mode)) return real(fd);
  pthread_mutex_lock(&notes);
  struct undo* undo = find(&status);
  pthread_mutex_unlock(&notes);
  uint64_t safe = written(undo);
  wait_if_slow();
  const int failed = real(fd);
  const int error = errno;
  if (!failed) {
    if (is_data_file(fd)) safe = written(undo);
    pthread_mutex_lock(&notes);
    make_safe(undo, safe);
    pthread_mutex_unlock(&notes);
  }
  errno = error;
  return failed;
}

int fsync(int fd) { return flush(fd, real_fsync); }

int fdatasync(int fd) { return flush(fd, real_fdatasync); }

int unlink(const char* path) {
  struct stat64 status;
  if (directory == NULL || lstat64(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return real_unlink(path);
  }
  /* Held until the notes are dropped, so that writes to a new file with this inode are noted only afterwards. */
  pthread_mutex_lock(&notes);
  const int failed = real_unlink(path);
  const int error = errno;
  for (int i = 0; !failed && i < undo_count; ++i) {
    if (undos[i].inode == status.st_ino && undos[i].device == status.st_dev) make_safe(&undos[i], undos[i].end);
  }
  pthread_mutex_unlock(&notes);
  errno = error;
  return failed;
}
