/* Makes one call of a program fail: preloaded, it counts the calls that write to files or start threads,
 * and lets one of them fail. The program is the one that ships: neither it nor SQLite in it knows.
 * Environment (failing.rs sets it):
 *
 *   FAILING_PROGRAM  only in a process of this name: its children are left alone
 *   FAILING_UNDER    only files in this folder; an inherited one, such as standard output, counts too
 *   FAILING_LOG      a file outside of it that gets a line per call: "NUMBER CALL BYTES PATH"; its first
 *                    character is "!" for the call that fails
 *   FAILING_AT       the number of the call that fails, from 1; 0: none
 *   FAILING_ERROR    its errno; 0: half of the bytes are written
 *
 * Not seen: calls that do not go through the C library (fallocate of rustix) and writes to mapped memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *under;
static size_t under_bytes;
static int log_file = -1;
static long fails_at;
static int error_code;
static atomic_long calls;

__attribute__((constructor)) static void begin(void) {
    const char *program = getenv("FAILING_PROGRAM"), *log = getenv("FAILING_LOG");
    const char *at = getenv("FAILING_AT"), *error = getenv("FAILING_ERROR");
    const char *folder = getenv("FAILING_UNDER");
    if (!program || !log || !at || !error || !folder ||
        strcmp(program, program_invocation_short_name))
        return;
    fails_at = atol(at);
    error_code = atoi(error);
    under_bytes = strlen(folder);
    log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    under = folder;
}

static int counted(const char *call, size_t bytes, const char *path) {
    long number = atomic_fetch_add(&calls, 1) + 1;
    int fails = number == fails_at;
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%s%ld %s %zu %s\n", fails ? "!" : "", number, call, bytes, path);
    syscall(SYS_write, log_file, line, length);
    return fails;
}

/* Whether this call is to fail. */
static int fails_on_path(const char *call, const char *path) {
    if (!under || strncmp(path, under, under_bytes) || (path[under_bytes] && path[under_bytes] != '/'))
        return 0;
    return counted(call, 0, path);
}

static int fails_on_file(const char *call, int file, size_t bytes) {
    char link[64], path[PATH_MAX];
    if (!under)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    int saved = errno;
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0)
        return 0;
    path[length] = 0;
    if (strncmp(path, under, under_bytes) || path[under_bytes] != '/')
        return 0;
    return counted(call, bytes, path);
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int refuse(void) {
    /* Half of a write, and another thread made a call that is none. */
    errno = error_code ? error_code : EIO;
    return -1;
}

/* Of a call that fails: refused, or half of it done. */
#define WRITE(name, type) \
    ssize_t name type { \
        REAL(name); \
        if (fails_on_file(#name, file, bytes)) { \
            if (error_code) return refuse(); \
            if (bytes > 1) bytes /= 2; \
        }

WRITE(write, (int file, const void *buffer, size_t bytes))
    return real(file, buffer, bytes);
}
WRITE(pwrite, (int file, const void *buffer, size_t bytes, off_t at))
    return real(file, buffer, bytes, at);
}
WRITE(pwrite64, (int file, const void *buffer, size_t bytes, off64_t at))
    return real(file, buffer, bytes, at);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(writev);
    size_t bytes = count > 0 ? parts[0].iov_len : 0;
    if (fails_on_file("writev", file, bytes)) {
        if (error_code) return refuse();
        struct iovec half = {parts[0].iov_base, bytes > 1 ? bytes / 2 : bytes};
        return real(file, &half, 1);
    }
    return real(file, parts, count);
}

#define ON_FILE(name, type, ...) \
    int name type { \
        REAL(name); \
        return fails_on_file(#name, file, 0) ? refuse() : real(__VA_ARGS__); \
    }

ON_FILE(fsync, (int file), file)
ON_FILE(fdatasync, (int file), file)
ON_FILE(ftruncate, (int file, off_t bytes), file, bytes)
ON_FILE(ftruncate64, (int file, off64_t bytes), file, bytes)

#define ON_PATH(name, path, type, ...) \
    int name type { \
        REAL(name); \
        return fails_on_path(#name, path) ? refuse() : real(__VA_ARGS__); \
    }

ON_PATH(rename, to, (const char *from, const char *to), from, to)
ON_PATH(mkdir, path, (const char *path, mode_t mode), path, mode)
ON_PATH(unlink, path, (const char *path), path)

/* Opening that may write. */
#define OPEN(name, call, on, parameters, ...) \
    int name parameters { \
        REAL(name); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        if ((flags & O_ACCMODE) != O_RDONLY && fails_on_path(call, path)) return refuse(); \
        return real(__VA_ARGS__, flags, mode); \
    }

OPEN(open, "open", path, (const char *path, int flags, ...), path)
OPEN(open64, "open", path, (const char *path, int flags, ...), path)
OPEN(openat, "open", path, (int folder, const char *path, int flags, ...), folder, path)
OPEN(openat64, "open", path, (int folder, const char *path, int flags, ...), folder, path)

/* Memory that is a file's. */
#define MAP(name, offset) \
    void *name(void *address, size_t bytes, int protection, int flags, int file, offset at) { \
        REAL(name); \
        if (flags & MAP_SHARED && protection & PROT_WRITE && file >= 0 && fails_on_file("mmap", file, bytes)) { \
            errno = error_code ? error_code : ENOMEM; \
            return MAP_FAILED; \
        } \
        return real(address, bytes, protection, flags, file, at); \
    }

MAP(mmap, off_t)
MAP(mmap64, off64_t)

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *with) {
    REAL(pthread_create);
    if (under && counted("pthread_create", 0, under))
        return error_code ? error_code : EAGAIN;
    return real(thread, how, work, with);
}
