// The disk: see SimulatedSystem.h.
//
// Before a page of a file is written its old bytes are kept, until a sync covers the file. So a power cut is to
// write some of them back. Only one thread changes files of a host at a time; the lock is for the thread that
// writes a backup into a pipe beside it.
#define _GNU_SOURCE
#include "SimulatedSystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, SECTOR = 512, FILE_MAX = 4096, DESCRIPTOR_MAX = 8192 };

// What a page had before a write that no sync has covered.
typedef struct {
    uint32_t page, order;
    bool is_doomed;  // A failed sync should have covered it: no later one does.
    unsigned char *bytes;  // NULL: it was behind the end of the file.
} undo;

typedef struct file {
    int host;
    dev_t device;
    ino_t inode;
    bool is_log;
    int descriptor;  // Our own, without O_DIRECT. Keeps the inode from being used again.
    off_t synced_size;
    // A failed sync is reported once to each descriptor: that to which it was, and the error. 0: none failed.
    int failed_descriptor, failure;
    undo *undos;  // In the order of the writes.
    size_t count, capacity;
} file;

static struct {
    char folder[256];
    size_t folder_length;
    bool is_used, is_frozen, is_full;
    uint64_t freeze_after, fail_sync_after;
    sim_disk_counts counts;
} hosts[SIM_HOST_MAX];
static file files[FILE_MAX];
static int file_count;
static struct {
    dev_t device;
    ino_t inode;
    int file;  // -1: not simulated.
} known[DESCRIPTOR_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t partial_state = 1;

static uint64_t next(uint64_t *state) {
    uint64_t mixed = *state += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
}

static void forget_all(file *file, bool doomed_too);

// MARK: Which host, which file

static int host_of(const char *path) {
    for (int host = 0; host < SIM_HOST_MAX; host++) {
        size_t length = hosts[host].folder_length;
        if (hosts[host].is_used && strncmp(path, hosts[host].folder, length) == 0 &&
            (path[length] == '/' || path[length] == 0))
            return host;
    }
    return -1;
}

static bool path_of(int descriptor, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, size - 1);
    if (length <= 0) return false;
    path[length] = 0;
    return true;
}

static bool ends_with(const char *path, const char *end) {
    size_t length = strlen(path), end_length = strlen(end);
    return length >= end_length && strcmp(path + length - end_length, end) == 0;
}

// What is not simulated would be lost by no power cut, and would lose nothing: a run that goes on proves nothing.
static void fail(const char *what) {
    fprintf(stderr, "the simulated disk has no place for another %s\n", what);
    abort();
}

static void remove_file(file *file) {
    forget_all(file, true);
    free(file->undos);
    close(file->descriptor);
    *file = (struct file){0};
    file->descriptor = -1;
}

// A place for a file. Where there is none, those that have no name any more give theirs: a power cut leaves nothing of
// them.
static int free_place(void) {
    if (file_count < FILE_MAX) return file_count++;
    memset(known, 0, sizeof known);
    int place = -1;
    for (int index = 0; index < file_count; index++) {
        struct stat status;
        if (files[index].descriptor >= 0 && fstat(files[index].descriptor, &status) == 0 && status.st_nlink == 0)
            remove_file(&files[index]);
        if (files[index].descriptor < 0) place = index;
    }
    if (place < 0) fail("file");
    return place;
}

static int add_file(int descriptor, const struct stat *status) {
    for (int index = 0; index < file_count; index++)
        if (files[index].descriptor >= 0 && files[index].inode == status->st_ino &&
            files[index].device == status->st_dev)
            return index;
    char path[4096], link[64];
    // Without a name, a power cut leaves nothing of it.
    if (status->st_nlink == 0 || !S_ISREG(status->st_mode) || !path_of(descriptor, path, sizeof path))
        return -1;
    int host = host_of(path);
    // The lock file: written through its map, and closing it would drop its locks.
    if (host < 0 || ends_with(path, "/lock.mdb")) return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int own = open(link, O_RDWR | O_CLOEXEC);
    if (own < 0) fail("descriptor");
    int place = free_place();
    files[place] = (file){
        .host = host,
        .device = status->st_dev,
        .inode = status->st_ino,
        .is_log = strstr(path, "/changes.log") != NULL,
        .descriptor = own,
        .synced_size = status->st_size};
    return place;
}

static file *file_of(int descriptor) {
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
    if (descriptor >= DESCRIPTOR_MAX) fail("descriptor");
    // The inode of what is not simulated may have been used again since: nothing here keeps it.
    if (known[descriptor].inode != status.st_ino || known[descriptor].device != status.st_dev ||
        known[descriptor].file < 0) {
        known[descriptor].device = status.st_dev;
        known[descriptor].inode = status.st_ino;
        known[descriptor].file = add_file(descriptor, &status);
    }
    int index = known[descriptor].file;
    return index < 0 ? NULL : &files[index];
}

static int host_of_directory(int descriptor) {
    struct stat status;
    char path[4096];
    if (fstat(descriptor, &status) != 0 || !S_ISDIR(status.st_mode)) return -1;
    return path_of(descriptor, path, sizeof path) ? host_of(path) : -1;
}

// MARK: Freezing

// Counts a call that would change the disk.
//
// Returns whether it is the one at which the disk freezes.
static bool counts_down(int host) {
    if (hosts[host].freeze_after == 0 || --hosts[host].freeze_after > 0) return false;
    hosts[host].is_frozen = true;
    return true;
}

static bool refuses(int host) {
    if (host < 0) return false;
    if (hosts[host].is_frozen || counts_down(host)) {
        errno = EIO;
        return true;
    }
    return false;
}

// MARK: Writing

static void save(file *file, off_t start, size_t count) {
    struct stat status;
    off_t size = fstat(file->descriptor, &status) == 0 ? status.st_size : 0;
    for (off_t page = start / PAGE; page * PAGE < start + (off_t)count; page++) {
        if (file->count == file->capacity) {
            file->capacity = file->capacity ? file->capacity * 2 : 64;
            file->undos = realloc(file->undos, file->capacity * sizeof *file->undos);
        }
        undo *undo = &file->undos[file->count];
        undo->page = (uint32_t)page;
        undo->order = (uint32_t)file->count++;
        undo->is_doomed = false;
        undo->bytes = NULL;
        if (page * PAGE >= size) continue;
        undo->bytes = malloc(PAGE);
        ssize_t got = pread(file->descriptor, undo->bytes, PAGE, page * PAGE);
        if (got < PAGE) memset(undo->bytes + (got > 0 ? got : 0), 0, PAGE - (got > 0 ? got : 0));
    }
}

// Whether a page was written again behind a write that is doomed: the next sync writes all of it.
static bool is_written_again(const file *file, size_t doomed) {
    for (size_t index = doomed + 1; index < file->count; index++)
        if (file->undos[index].page == file->undos[doomed].page && !file->undos[index].is_doomed) return true;
    return false;
}

// Forgets what is durable now: all, but what a failed sync should have written, or the pages of a range.
static void forget(file *file, bool doomed_too, off_t start, off_t end) {
    for (size_t index = 0; index < file->count && !doomed_too; index++)
        if (file->undos[index].is_doomed && is_written_again(file, index))
            file->undos[index].is_doomed = false;
    size_t kept = 0;
    for (size_t index = 0; index < file->count; index++) {
        undo undo = file->undos[index];
        off_t page = (off_t)undo.page * PAGE;
        if ((doomed_too || !undo.is_doomed) && page + PAGE > start && page < end) {
            free(undo.bytes);
        } else {
            file->undos[kept++] = undo;
        }
    }
    file->count = kept;
}

static void forget_all(file *file, bool doomed_too) { forget(file, doomed_too, 0, INT64_MAX); }

static bool is_zeros(const struct iovec *piece) {
    const unsigned char *bytes = piece->iov_base;
    return piece->iov_len >= 16 * PAGE && bytes[0] == 0 &&
           memcmp(bytes, bytes + 1, piece->iov_len - 1) == 0;
}

static bool has_room(file *file, off_t start, size_t count) {
    if (!hosts[file->host].is_full) return true;
    struct stat status;
    if (fstat(file->descriptor, &status) != 0 || start + (off_t)count > status.st_size) return false;
    // Its zeros were written, and are a hole here.
    if (file->is_log) return true;
    off_t hole = lseek(file->descriptor, start, SEEK_HOLE);
    return hole >= start + (off_t)count;
}

static size_t length_of(const struct iovec *pieces, int piece_count) {
    size_t length = 0;
    for (int index = 0; index < piece_count; index++) length += pieces[index].iov_len;
    return length;
}

// offset -1: where the descriptor is.
static ssize_t do_write(int descriptor, const struct iovec *pieces, int piece_count, off_t offset) {
    return offset < 0 ? syscall(SYS_writev, descriptor, pieces, piece_count)
                      : syscall(SYS_pwritev, descriptor, pieces, piece_count, offset, 0);
}

static ssize_t simulated_write(int descriptor, const struct iovec *pieces, int piece_count, off_t offset) {
    pthread_mutex_lock(&lock);
    file *file = file_of(descriptor);
    ssize_t result = -1;
    if (file == NULL) {
        pthread_mutex_unlock(&lock);
        return do_write(descriptor, pieces, piece_count, offset);
    }
    size_t length = length_of(pieces, piece_count);
    off_t start = offset < 0 ? lseek(descriptor, 0, SEEK_CUR) : offset;
    hosts[file->host].counts.writes++;
    if (hosts[file->host].is_frozen) {
        errno = EIO;
    } else if (counts_down(file->host)) {
        // The process dies within it: some of its first pages are written.
        size_t kept = next(&partial_state) % (length + 1) / PAGE * PAGE;
        save(file, start, kept);
        struct iovec first = pieces[0];
        if (first.iov_len > kept) first.iov_len = kept;
        if (first.iov_len > 0)
            syscall(SYS_pwrite64, file->descriptor, first.iov_base, first.iov_len, start);
        errno = EIO;
    } else if (!has_room(file, start, length)) {
        errno = ENOSPC;
    } else if (file->is_log && offset >= lseek(file->descriptor, 0, SEEK_END) && is_zeros(pieces)) {
        // A new log: 8 MiB that need not be written to have them.
        result = syscall(SYS_ftruncate, descriptor, offset + length) == 0 ? (ssize_t)length : -1;
    } else {
        save(file, start, length);
        result = do_write(descriptor, pieces, piece_count, offset);
        if (result > 0 && fcntl(descriptor, F_GETFL) & O_DSYNC) forget(file, false, start, start + result);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (offset < 0) return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    struct iovec piece = {(void *)bytes, count};
    return simulated_write(descriptor, &piece, 1, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

ssize_t pwritev(int descriptor, const struct iovec *pieces, int piece_count, off_t offset) {
    return simulated_write(descriptor, pieces, piece_count, offset);
}

ssize_t pwritev64(int descriptor, const struct iovec *pieces, int piece_count, off_t offset) {
    return simulated_write(descriptor, pieces, piece_count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    struct iovec piece = {(void *)bytes, count};
    return simulated_write(descriptor, &piece, 1, -1);
}

ssize_t writev(int descriptor, const struct iovec *pieces, int piece_count) {
    return simulated_write(descriptor, pieces, piece_count, -1);
}

// MARK: Syncing

static int simulated_sync(int descriptor) {
    pthread_mutex_lock(&lock);
    file *file = file_of(descriptor);
    int result = 0;
    int host = file ? file->host : host_of_directory(descriptor);
    if (refuses(host)) {
        result = -1;
    } else if (file) {
        hosts[host].counts.syncs++;
        if (hosts[host].fail_sync_after > 0 && --hosts[host].fail_sync_after == 0) {
            for (size_t index = 0; index < file->count; index++) file->undos[index].is_doomed = true;
            file->failed_descriptor = descriptor;
            file->failure = hosts[host].counts.syncs % 2 ? EIO : ENOSPC;
            errno = file->failure;
            result = -1;
        } else if (file->failure && descriptor != file->failed_descriptor) {
            errno = file->failure;
            file->failure = 0;
            result = -1;
        } else {
            struct stat status;
            if (fstat(descriptor, &status) == 0) file->synced_size = status.st_size;
            forget_all(file, false);
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int fdatasync(int descriptor) { return simulated_sync(descriptor); }
int fsync(int descriptor) { return simulated_sync(descriptor); }

int sync_file_range(int descriptor, off_t offset, off_t count, unsigned flags) {
    (void)descriptor, (void)offset, (void)count, (void)flags;
    return 0;
}

// MARK: Sizes

int ftruncate(int descriptor, off_t size) {
    pthread_mutex_lock(&lock);
    file *file = file_of(descriptor);
    int result = file && refuses(file->host) ? -1 : (int)syscall(SYS_ftruncate, descriptor, size);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate64(int descriptor, off_t size) { return ftruncate(descriptor, size); }

int fallocate(int descriptor, int mode, off_t offset, off_t count) {
    pthread_mutex_lock(&lock);
    file *file = file_of(descriptor);
    int result = -1;
    if (file && refuses(file->host)) {
    } else if (file && mode == 0 && !has_room(file, offset, (size_t)count)) {
        errno = ENOSPC;
    } else {
        result = (int)syscall(SYS_fallocate, descriptor, mode, offset, count);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int fallocate64(int descriptor, int mode, off_t offset, off_t count) {
    return fallocate(descriptor, mode, offset, count);
}

int posix_fallocate(int descriptor, off_t offset, off_t count) {
    return fallocate(descriptor, 0, offset, count) == 0 ? 0 : errno;
}

int posix_fallocate64(int descriptor, off_t offset, off_t count) {
    return posix_fallocate(descriptor, offset, count);
}

// A disk of 1 TiB, so that its size is never what decides.
int fstatvfs(int descriptor, struct statvfs *status) {
    memset(status, 0, sizeof *status);
    status->f_bsize = status->f_frsize = PAGE;
    status->f_blocks = 1 << 28;
    status->f_namemax = 255;
    pthread_mutex_lock(&lock);
    file *file = file_of(descriptor);
    int host = file ? file->host : host_of_directory(descriptor);
    status->f_bfree = status->f_bavail = host >= 0 && hosts[host].is_full ? 0 : 1 << 27;
    pthread_mutex_unlock(&lock);
    return 0;
}

int fstatvfs64(int descriptor, struct statvfs64 *status) {
    return fstatvfs(descriptor, (struct statvfs *)status);
}

// Of a folder. It is never full: what files have on the disk is the real one's to say.
int statvfs(const char *path, struct statvfs *status) {
    (void)path;
    memset(status, 0, sizeof *status);
    status->f_bsize = status->f_frsize = PAGE;
    status->f_blocks = 1 << 28;
    status->f_namemax = 255;
    status->f_bfree = status->f_bavail = 1 << 27;
    return 0;
}

int statvfs64(const char *path, struct statvfs64 *status) {
    return statvfs(path, (struct statvfs *)status);
}

// MARK: Names. They are durable at once.

int unlink(const char *path) {
    return refuses(host_of(path)) ? -1 : (int)syscall(SYS_unlink, path);
}

int rmdir(const char *path) {
    return refuses(host_of(path)) ? -1 : (int)syscall(SYS_rmdir, path);
}

int mkdir(const char *path, mode_t mode) {
    return refuses(host_of(path)) ? -1 : (int)syscall(SYS_mkdir, path, mode);
}

int rename(const char *from, const char *to) {
    return refuses(host_of(to)) ? -1 : (int)syscall(SYS_rename, from, to);
}

static int open_named(const char *path, int flags, mode_t mode) {
    int host = flags & (O_CREAT | O_TRUNC) ? host_of(path) : -1;
    if (host >= 0 && hosts[host].is_frozen) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_named(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_named(path, flags, mode);
}

// MARK: For the simulator

void sim_disk_add(int host, const char *folder) {
    snprintf(hosts[host].folder, sizeof hosts[host].folder, "%s", folder);
    hosts[host].folder_length = strlen(folder);
    hosts[host].is_used = true;
    hosts[host].is_frozen = hosts[host].is_full = false;
    hosts[host].freeze_after = hosts[host].fail_sync_after = 0;
    hosts[host].counts = (sim_disk_counts){0};
}

void sim_disk_remove(int host) {
    hosts[host].is_used = false;
    bool has_others = false;
    for (int index = 0; index < file_count; index++) {
        file *file = &files[index];
        if (file->descriptor >= 0 && file->host == host) remove_file(file);
        has_others |= file->descriptor >= 0;
    }
    if (!has_others) file_count = 0;
    memset(known, 0, sizeof known);
}

void sim_disk_freeze_after(int host, uint64_t calls) { hosts[host].freeze_after = calls; }
void sim_disk_freeze(int host) { hosts[host].is_frozen = true; }
bool sim_disk_is_frozen(int host) { return hosts[host].is_frozen; }

void sim_disk_thaw(int host) {
    hosts[host].is_frozen = false;
    hosts[host].freeze_after = hosts[host].fail_sync_after = 0;
    // Where no power cut came meanwhile, another try has written what a sync did not.
    for (int index = 0; index < file_count; index++) {
        if (files[index].descriptor < 0 || files[index].host != host) continue;
        for (size_t undo = 0; undo < files[index].count; undo++) files[index].undos[undo].is_doomed = false;
        // Who opens the file now is not told of an error that somebody has seen.
        files[index].failure = 0;
    }
}

void sim_disk_fail_sync_after(int host, uint64_t syncs) { hosts[host].fail_sync_after = syncs; }
void sim_disk_set_full(int host, bool is_full) { hosts[host].is_full = is_full; }
sim_disk_counts sim_disk_get_counts(int host) { return hosts[host].counts; }

static int by_page(const void *left, const void *right) {
    const undo *a = left, *b = right;
    if (a->page != b->page) return a->page < b->page ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void copy_page(unsigned char *page, const unsigned char *bytes) {
    if (bytes) {
        memcpy(page, bytes, PAGE);
    } else {
        memset(page, 0, PAGE);
    }
}

// - writes: those of one page, in their order.
static void cut_page(file *file, undo *writes, size_t count, uint64_t *state) {
    sim_disk_counts *counts = &hosts[file->host].counts;
    size_t doomed = 0;
    while (doomed < count && !writes[doomed].is_doomed) doomed++;
    // How many of its writes are on the disk.
    size_t kept = next(state) % (count + 1);
    if (kept > doomed) kept = doomed;
    counts->cut_pages++;
    if (kept == count) return;
    counts->lost_pages++;
    unsigned char page[PAGE], later[PAGE];
    copy_page(page, writes[kept].bytes);
    off_t start = (off_t)writes[kept].page * PAGE;
    if (next(state) % 4 == 0 && !writes[kept].is_doomed) {
        // The write under way when the power went has some of its sectors on the disk.
        copy_page(later, kept + 1 < count ? writes[kept + 1].bytes : NULL);
        if (kept + 1 == count && pread(file->descriptor, later, PAGE, start) < 0) return;
        for (int sector = 0; sector < PAGE; sector += SECTOR)
            if (next(state) % 2) memcpy(page + sector, later + sector, SECTOR);
    }
    struct stat status;
    if (fstat(file->descriptor, &status) != 0 || start >= status.st_size) return;
    size_t length = status.st_size - start < PAGE ? (size_t)(status.st_size - start) : PAGE;
    syscall(SYS_pwrite64, file->descriptor, page, length, start);
}

void sim_disk_cut_power(int host, uint64_t seed) {
    uint64_t state = seed;
    for (int index = 0; index < file_count; index++) {
        file *file = &files[index];
        if (file->descriptor < 0 || file->host != host || file->count == 0) continue;
        qsort(file->undos, file->count, sizeof *file->undos, by_page);
        for (size_t first = 0; first < file->count;) {
            size_t end = first;
            while (end < file->count && file->undos[end].page == file->undos[first].page) end++;
            cut_page(file, file->undos + first, end - first, &state);
            first = end;
        }
        forget_all(file, true);
        struct stat status;
        if (fstat(file->descriptor, &status) == 0 && status.st_size > file->synced_size &&
            next(&state) % 2)
            syscall(SYS_ftruncate, file->descriptor, file->synced_size);
    }
}
