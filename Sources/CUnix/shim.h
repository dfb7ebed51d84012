// The system, as Swift can import it without the Glibc overlay (which Embedded Swift does not have).
#ifndef TURNSTONE_CUNIX_H
#define TURNSTONE_CUNIX_H

// No _GNU_SOURCE: it changes structures' member names against those in Foundation's view of the same headers.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/stat.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

// `errno` is a macro over a function call.
static inline int cunix_errno(void) { return errno; }
static inline void cunix_clear_errno(void) { errno = 0; }
// open(2) and fcntl(2) are variadic.
static inline int cunix_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
static inline int cunix_fcntl(int descriptor, int command, long argument) { return fcntl(descriptor, command, argument); }
// `environ` is a mutable global, which Swift 6 refuses to read; the headers declare it for GNU sources only.
extern char **environ;
static inline char **cunix_environ(void) { return environ; }
// glibc declares these for GNU sources only (since 2.26 and 2.34).
enum { cunix_spawn_setsid = 0x80 };
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
// So is fallocate(2), with its flag.
enum { cunix_keep_size = 1 };
int fallocate(int descriptor, int mode, off_t offset, off_t length);
// So is memmem(3).
void *memmem(const void *bytes, size_t count, const void *needle, size_t length);
// And statx(2), which alone tells when a file was made; 0 where the file system does not know. In nanoseconds.
int statx(int folder, const char *path, int flags, unsigned int mask, struct statx *result);
static inline long long cunix_birth(int descriptor) {
    struct statx status;
    if (statx(descriptor, "", 0x1000, STATX_BTIME, &status) != 0) return 0;
    if (!(status.stx_mask & STATX_BTIME)) return 0;
    return status.stx_btime.tv_sec * 1000000000LL + status.stx_btime.tv_nsec;
}
// And the manual's names of error numbers (since 2.32).
const char *strerrorname_np(int number);
// And tee(2), memfd_create(2) and poll(2)'s sign that the other side sends no more.
ssize_t tee(int from, int to, size_t count, unsigned int flags);
int memfd_create(const char *name, unsigned int flags);
enum { cunix_sends_no_more = 0x2000 };
// A variable of each thread's own. Only one file of one module may call this: another one would have another.
static inline void **cunix_thread_slot(void) {
    static _Thread_local void *slot;
    return &slot;
}
// SIG_IGN and SIG_DFL are casts.
static inline void cunix_ignore(int number) { signal(number, SIG_IGN); }
static inline void cunix_restore(int number) { signal(number, SIG_DFL); }
// syslog(3) is variadic. A unit's LogLevelMax=notice keeps what is less from the journal.
static inline void cunix_syslog(const char *text) { syslog(LOG_USER | LOG_NOTICE, "%s", text); }
// The wait(2) status macros.
static inline int cunix_exit_status(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
static inline int cunix_end_signal(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

#endif
