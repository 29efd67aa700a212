/* The library of Recorder.swift. Calls to the kernel are made directly, so that no other is noted twice. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { START = 1, WRITE, TRUNCATE, ALLOCATE, SYNC, CREATE, RENAME, UNLINK, MAKE_FOLDER,
       REMOVE_FOLDER, DONE, SYNCED, UNKNOWN, MAP = 15 };

struct note {
    uint64_t magic, kind, sequence, inode;
    int64_t offset, length;
    uint64_t flags, name_count, byte_count;
};

static int trace = -1;
static char folder[PATH_MAX];
static size_t folder_count;
static dev_t device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sequence;

static void append(const void *bytes, size_t count) {
    while (count > 0) {
        long written = syscall(SYS_write, trace, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) abort();
        bytes = (const char *)bytes + written;
        count -= written;
    }
}

/* With the lock held. */
static void note(struct note *head, const char *name, size_t name_count,
                 const struct iovec *parts, int part_count) {
    head->magic = 0x5354554344424F4C;
    head->name_count = name_count;
    head->byte_count = 0;
    for (int i = 0; i < part_count; i++) head->byte_count += parts[i].iov_len;
    append(head, sizeof *head);
    append(name, name_count);
    for (int i = 0; i < part_count; i++) append(parts[i].iov_base, parts[i].iov_len);
}

static uint64_t begin(int kind, const struct stat *file, int64_t offset, int64_t length,
                      uint64_t flags, const char *name) {
    struct note head = { .kind = kind, .sequence = ++sequence, .offset = offset,
                         .length = length, .flags = flags };
    if (file) head.inode = file->st_ino;
    note(&head, name, strlen(name), 0, 0);
    return sequence;
}

static void end(int kind, uint64_t which, int64_t result, uint64_t inode) {
    struct note head = { .kind = kind, .sequence = which, .length = result,
                         .inode = inode };
    note(&head, "", 0, 0, 0);
}

static void unknown(const char *what) {
    pthread_mutex_lock(&lock);
    begin(UNKNOWN, 0, 0, 0, 0, what);
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("CUTS_TRACE"), *watched = getenv("CUTS_FOLDER");
    struct stat status;
    if (!path || !watched || stat(watched, &status) != 0) return;
    device = status.st_dev;
    folder_count = strlen(watched);
    memcpy(folder, watched, folder_count + 1);
    trace = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    if (trace < 0) abort();
    begin(START, 0, 0, 0, 0, "");
}

/* The name of a path inside the folder; the folder itself is "". */
static const char *inside(const char *path) {
    if (strncmp(path, folder, folder_count) != 0) return 0;
    if (path[folder_count] == 0) return path + folder_count;
    return path[folder_count] == '/' ? path + folder_count + 1 : 0;
}

/* The same for a path as calls have them; room is for the whole of it. */
static const char *named(int at, const char *path, char *room) {
    if (trace < 0 || !path) return 0;
    if (path[0] == '/') return inside(path);
    char link[64];
    if (at == AT_FDCWD) strcpy(link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    ssize_t count = readlink(link, room, PATH_MAX);
    size_t more = strlen(path);
    if (count <= 0 || count + more + 2 > PATH_MAX) return 0;
    room[count] = '/';
    memcpy(room + count + 1, path, more + 1);
    return inside(room);
}

/* The name of a descriptor's file when it has one in the folder. */
static const char *held(int fd, struct stat *status, char *room) {
    int error = errno;
    const char *name = 0;
    if (trace >= 0 && fstat(fd, status) == 0 && status->st_dev == device
        && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode))
        && status->st_nlink > 0) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t count = readlink(link, room, PATH_MAX - 1);
        if (count > 0) {
            room[count] = 0;
            name = inside(room);
        }
    }
    errno = error;
    return name;
}

#define LOCKED_CALL(result, begun, call) \
    pthread_mutex_lock(&lock); \
    uint64_t which = begun; \
    result = call; \
    int error = errno; \
    end(DONE, which, result < 0 ? -error : result, 0); \
    pthread_mutex_unlock(&lock); \
    errno = error

static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset,
                           int is_placed, struct stat *status, const char *name) {
    pthread_mutex_lock(&lock);
    int flags = fcntl(fd, F_GETFL);
    if (flags & O_APPEND) {
        fstat(fd, status);
        offset = status->st_size;
    } else if (!is_placed) {
        offset = lseek(fd, 0, SEEK_CUR);
    }
    struct note head = { .kind = WRITE, .sequence = ++sequence, .inode = status->st_ino,
                         .offset = offset, .flags = flags & O_DSYNC ? 1 : 0 };
    uint64_t which = sequence;
    note(&head, name, strlen(name), parts, count);
    long result = is_placed
        ? syscall(SYS_pwritev, fd, parts, count, offset, 0)
        : syscall(SYS_writev, fd, parts, count);
    int error = errno;
    end(DONE, which, result < 0 ? -error : result, 0);
    if (flags & O_DSYNC && result >= 0) end(SYNCED, which, 0, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

#define HELD(fd) \
    struct stat status; \
    char room[PATH_MAX]; \
    const char *name = held(fd, &status, room)

ssize_t write(int fd, const void *bytes, size_t count) {
    HELD(fd);
    if (!name) return syscall(SYS_write, fd, bytes, count);
    struct iovec part = { (void *)bytes, count };
    return write_parts(fd, &part, 1, 0, 0, &status, name);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    HELD(fd);
    if (!name) return syscall(SYS_writev, fd, parts, count);
    return write_parts(fd, parts, count, 0, 0, &status, name);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    HELD(fd);
    if (!name) return syscall(SYS_pwrite64, fd, bytes, count, offset);
    struct iovec part = { (void *)bytes, count };
    return write_parts(fd, &part, 1, offset, 1, &status, name);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    HELD(fd);
    if (!name) return syscall(SYS_pwritev, fd, parts, count, offset, 0);
    return write_parts(fd, parts, count, offset, 1, &status, name);
}

ssize_t pwrite64(int, const void *, size_t, off_t) __attribute__((alias("pwrite")));
ssize_t pwritev64(int, const struct iovec *, int, off_t)
    __attribute__((alias("pwritev")));

int ftruncate(int fd, off_t length) {
    HELD(fd);
    if (!name) return syscall(SYS_ftruncate, fd, length);
    int result;
    LOCKED_CALL(result, begin(TRUNCATE, &status, 0, length, 0, name),
                syscall(SYS_ftruncate, fd, length));
    return result;
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
    HELD(fd);
    if (!name) return syscall(SYS_fallocate, fd, mode, offset, length);
    int result;
    LOCKED_CALL(result, begin(ALLOCATE, &status, offset, length, mode, name),
                syscall(SYS_fallocate, fd, mode, offset, length));
    return result;
}

/* Where the file system cannot allocate the error is handed on. */
int posix_fallocate(int fd, off_t offset, off_t length) {
    int before = errno, result = fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
    errno = before;
    return result;
}

int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));
int fallocate64(int, int, off_t, off_t) __attribute__((alias("fallocate")));
int posix_fallocate64(int, off_t, off_t) __attribute__((alias("posix_fallocate")));

static int sync_file(int fd, long call) {
    HELD(fd);
    if (!name) return syscall(call, fd);
    pthread_mutex_lock(&lock);
    uint64_t which = begin(SYNC, &status, 0, 0, S_ISDIR(status.st_mode) ? 1 : 0, name);
    pthread_mutex_unlock(&lock);
    int result = syscall(call, fd), error = errno;
    pthread_mutex_lock(&lock);
    end(DONE, which, result < 0 ? -error : 0, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }
int fsync(int fd) { return sync_file(fd, SYS_fsync); }

static int open_file(int at, const char *path, int flags, mode_t mode) {
    char room[PATH_MAX];
    const char *name = 0;
    if ((flags & O_TMPFILE) != O_TMPFILE && flags & (O_CREAT | O_TRUNC))
        name = named(at, path, room);
    if (!name) return syscall(SYS_openat, at, path, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat status;
    int is_there = fstatat(at, path, &status, 0) == 0;
    uint64_t which = 0;
    if (!is_there) which = begin(CREATE, 0, 0, 0, 0, name);
    else if (flags & O_TRUNC) which = begin(TRUNCATE, &status, 0, 0, 0, name);
    int fd = syscall(SYS_openat, at, path, flags, mode), error = errno;
    if (fd >= 0) fstat(fd, &status);
    if (which) end(DONE, which, fd < 0 ? -error : 0, fd < 0 ? 0 : status.st_ino);
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

#define MODE() \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

int open(const char *path, int flags, ...) {
    MODE();
    return open_file(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE();
    return open_file(AT_FDCWD, path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    MODE();
    return open_file(at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    MODE();
    return open_file(at, path, flags, mode);
}

int renameat2(int old_at, const char *old, int new_at, const char *new, unsigned flags) {
    char old_room[PATH_MAX], new_room[PATH_MAX];
    const char *from = named(old_at, old, old_room), *to = named(new_at, new, new_room);
    if (!from && !to) return syscall(SYS_renameat2, old_at, old, new_at, new, flags);
    if (!from || !to || flags) {
        unknown("renameat2 to or from elsewhere, or with flags");
        return syscall(SYS_renameat2, old_at, old, new_at, new, flags);
    }
    char names[2 * PATH_MAX];
    snprintf(names, sizeof names, "%s//%s", from, to);
    int result;
    LOCKED_CALL(result, begin(RENAME, 0, 0, 0, 0, names),
                syscall(SYS_renameat2, old_at, old, new_at, new, flags));
    return result;
}

int rename(const char *old, const char *new) {
    return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}
int renameat(int old_at, const char *old, int new_at, const char *new) {
    return renameat2(old_at, old, new_at, new, 0);
}

int unlinkat(int at, const char *path, int flags) {
    char room[PATH_MAX];
    const char *name = named(at, path, room);
    if (!name) return syscall(SYS_unlinkat, at, path, flags);
    int result, kind = flags & AT_REMOVEDIR ? REMOVE_FOLDER : UNLINK;
    LOCKED_CALL(result, begin(kind, 0, 0, 0, 0, name),
                syscall(SYS_unlinkat, at, path, flags));
    return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int at, const char *path, mode_t mode) {
    char room[PATH_MAX];
    const char *name = named(at, path, room);
    if (!name || !*name) return syscall(SYS_mkdirat, at, path, mode);
    int result;
    LOCKED_CALL(result, begin(MAKE_FOLDER, 0, 0, 0, 0, name),
                syscall(SYS_mkdirat, at, path, mode));
    return result;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

/* What cannot be followed. */
int linkat(int old_at, const char *old, int new_at, const char *new, int flags) {
    char room[PATH_MAX];
    if (named(new_at, new, room)) unknown("linkat");
    return syscall(SYS_linkat, old_at, old, new_at, new, flags);
}

int link(const char *old, const char *new) {
    return linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int truncate(const char *path, off_t length) {
    char room[PATH_MAX];
    if (named(AT_FDCWD, path, room)) unknown("truncate");
    return syscall(SYS_truncate, path, length);
}

ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    HELD(fd);
    if (name) unknown("pwritev2");
    return syscall(SYS_pwritev2, fd, parts, count, offset, 0, flags);
}

ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t count,
                        unsigned flags) {
    HELD(out);
    if (name) unknown("copy_file_range");
    return syscall(SYS_copy_file_range, in, from, out, to, count, flags);
}

/* What is written through a map is not seen. */
void *mmap(void *at, size_t count, int protection, int flags, int fd, off_t offset) {
    if (fd >= 0 && protection & PROT_WRITE && flags & MAP_SHARED) {
        HELD(fd);
        if (name) {
            pthread_mutex_lock(&lock);
            begin(MAP, &status, 0, 0, 0, name);
            pthread_mutex_unlock(&lock);
        }
    }
    return (void *)syscall(SYS_mmap, at, count, protection, flags, fd, offset);
}

void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));
