/* A disk that fails on demand. Loaded with LD_PRELOAD, it stands between a process and every call that changes a file
 * below one folder. It counts these calls and, at the one that was asked for, kills the process or reports an error.
 * It can also write down what happened, so that a power cut can be acted out afterwards.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fault { NONE, KILL, TORN, NO_SPACE, IO_ERROR };

static char folder[PATH_MAX]; /* empty: nothing is counted */
static long count, at;
static enum fault fault;
static int goes_on;  /* an error repeats at every later call, as on a disk that is full */
static int trace = -1;
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER; /* threads write whole records */

void faults_arm(const char *below, long number, int kind, int sticky) {
  count = 0, at = number, fault = kind, goes_on = sticky;
  snprintf(folder, sizeof folder, "%s", below);
}

long faults_count(void) { return count; }

void faults_trace(int fd) { trace = fd; }

/* One record: what, which file, where, how many bytes; then the name and the bytes. */
static void record(char what, const char *name, int64_t offset, const void *bytes, int64_t length) {
  if (trace < 0) return;
  int64_t head[4] = {what, (int64_t)strlen(name), offset, length};
  pthread_mutex_lock(&recording);
  syscall(SYS_write, trace, head, sizeof head);
  syscall(SYS_write, trace, name, strlen(name));
  if (bytes) syscall(SYS_write, trace, bytes, length);
  pthread_mutex_unlock(&recording);
}

void faults_note(const char *text) { record('n', text, 0, NULL, 0); }

static int is_below(const char *name) {
  size_t length = strlen(folder);
  return length && !strncmp(name, folder, length) && (name[length] == '/' || !name[length]);
}

static int is_watched(int fd, char *name) {
  if (!*folder) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, name, PATH_MAX - 1);
  if (length < 0) return 0;
  name[length] = 0;
  return is_below(name);
}

/* True if this call must fail; errno says how. */
static int fails(int is_sync) {
  long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  if (!at || !(number == at || (goes_on && number > at))) return 0;
  if (fault == KILL) kill(getpid(), SIGKILL);
  if (fault == NO_SPACE && !is_sync) return errno = ENOSPC, 1;
  if (fault == IO_ERROR) return errno = EIO, 1;
  return 0;
}

static int is_torn(void) { return fault == TORN && at && count == at; }

static ssize_t put(int fd, const void *bytes, size_t length, off_t offset) {
  if (is_torn()) { /* a part of the bytes, then the end */
    syscall(SYS_pwrite64, fd, bytes, length / 2, offset);
    kill(getpid(), SIGKILL);
  }
  return syscall(SYS_pwrite64, fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
  char name[PATH_MAX];
  if (!is_watched(fd, name)) return syscall(SYS_pwrite64, fd, bytes, length, offset);
  if (fails(0)) return -1;
  record('w', name, offset, bytes, (int64_t)length);
  return put(fd, bytes, length, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwrite64(fd, bytes, length, offset); }

ssize_t write(int fd, const void *bytes, size_t length) {
  char name[PATH_MAX];
  if (!is_watched(fd, name)) return syscall(SYS_write, fd, bytes, length);
  if (fails(0)) return -1;
  off_t offset = lseek(fd, 0, SEEK_CUR);
  record('w', name, offset, bytes, (int64_t)length);
  ssize_t done = put(fd, bytes, length, offset);
  if (done > 0) lseek(fd, offset + done, SEEK_SET);
  return done;
}

static int synced(int fd, long call) {
  char name[PATH_MAX];
  if (!is_watched(fd, name)) return (int)syscall(call, fd);
  if (fails(1)) return -1;
  int done = (int)syscall(call, fd);
  record('s', name, 0, NULL, 0);
  return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int ftruncate64(int fd, off_t length) {
  char name[PATH_MAX];
  if (!is_watched(fd, name)) return (int)syscall(SYS_ftruncate, fd, length);
  if (fails(0)) return -1;
  record('t', name, length, NULL, 0);
  return (int)syscall(SYS_ftruncate, fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int unlink(const char *name) {
  if (!is_below(name)) return (int)syscall(SYS_unlinkat, AT_FDCWD, name, 0);
  if (fails(0)) return -1;
  record('u', name, 0, NULL, 0);
  return (int)syscall(SYS_unlinkat, AT_FDCWD, name, 0);
}

int rename(const char *old, const char *new) {
  if (is_below(old) && fails(0)) return -1;
  return (int)syscall(SYS_renameat, AT_FDCWD, old, AT_FDCWD, new);
}

int open64(const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  int is_new = (flags & O_CREAT) && is_below(name) && access(name, F_OK);
  if (is_new && fails(0)) return -1;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
  if (is_new && fd >= 0) record('c', name, 0, NULL, 0);
  return fd;
}

int open(const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  return open64(name, flags, mode);
}
