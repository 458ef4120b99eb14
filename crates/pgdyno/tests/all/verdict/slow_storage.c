/* Makes a server's storage slow: preloaded into its processes, it delays their calls by what the file
 * that SLOW_STORAGE names says. The file holds one 32-bit number of microseconds for each kind of call,
 * in the order below; the test changes them while the server runs (storage.rs). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { WAL_SYNC, WAL_WRITE, DATA_SYNC, DATA_READ, DATA_WRITE, EXTENSION, KINDS };

static volatile const uint32_t *delays_us;
static int control = -1;

__attribute__((constructor)) static void open_control(void) {
    const char *path = getenv("SLOW_STORAGE");
    if (!path || (control = open(path, O_RDWR | O_CLOEXEC)) < 0)
        return;
    void *map = mmap(NULL, KINDS * sizeof(uint32_t), PROT_READ, MAP_SHARED, control, 0);
    if (map != MAP_FAILED)
        delays_us = map;
}

/* A device does one thing after the other when a call holds it (a sync does); a lock of the process on
 * the control file is that queue. */
static void hold_device(short how) {
    struct flock lock = {.l_type = how, .l_whence = SEEK_SET};
    while (fcntl(control, F_SETLKW, &lock) < 0 && errno == EINTR)
        ;
}

static void wait_us(uint32_t us) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = until.tv_nsec + (uint64_t)us * 1000;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    /* The server's signals interrupt it; the device would not be. */
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static int is_slow(void) {
    if (!delays_us)
        return 0;
    for (int kind = 0; kind < KINDS; kind++)
        if (delays_us[kind])
            return 1;
    return 0;
}

/* Tables and the log only: temporary files, settings and statistics stay fast. */
static void delay(int fd, enum kind wal, enum kind data, int holds) {
    int saved = errno;
    char link[32], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        enum kind kind = KINDS;
        if (strstr(path, "/pg_wal/"))
            kind = wal;
        else if (strstr(path, "/base/") && !strstr(path, "pgsql_tmp"))
            kind = data;
        uint32_t us = kind == KINDS ? 0 : delays_us[kind];
        if (us) {
            if (holds)
                hold_device(F_WRLCK);
            wait_us(us);
            if (holds)
                hold_device(F_UNLCK);
        }
    }
    errno = saved;
}

static enum kind write_kind(int fd, off_t offset) {
    struct stat file;
    return fstat(fd, &file) == 0 && offset >= file.st_size ? EXTENSION : DATA_WRITE;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

int fsync(int fd) {
    REAL(fsync);
    if (is_slow())
        delay(fd, WAL_SYNC, DATA_SYNC, 1);
    return real(fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    if (is_slow())
        delay(fd, WAL_SYNC, DATA_SYNC, 1);
    return real(fd);
}

int posix_fallocate(int fd, off_t offset, off_t length) {
    REAL(posix_fallocate);
    if (is_slow())
        delay(fd, KINDS, EXTENSION, 0);
    return real(fd, offset, length);
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset) {
    REAL(pread);
    if (is_slow())
        delay(fd, KINDS, DATA_READ, 0);
    return real(fd, buffer, length, offset);
}

ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset) {
    REAL(preadv);
    if (is_slow())
        delay(fd, KINDS, DATA_READ, 0);
    return real(fd, parts, count, offset);
}

ssize_t pwrite(int fd, const void *buffer, size_t length, off_t offset) {
    REAL(pwrite);
    if (is_slow())
        delay(fd, WAL_WRITE, write_kind(fd, offset), 0);
    return real(fd, buffer, length, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    REAL(pwritev);
    if (is_slow())
        delay(fd, WAL_WRITE, write_kind(fd, offset), 0);
    return real(fd, parts, count, offset);
}
