// Copies of folders: see SimulatedSystem.h.
#define _GNU_SOURCE
#include "SimulatedSystem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_name(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void remove_folder(const char *folder) {
    DIR *entries = opendir(folder);
    if (entries == NULL) return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (is_name(entry) && syscall(SYS_unlink, path) != 0) remove_folder(path);
    }
    closedir(entries);
    syscall(SYS_rmdir, folder);
}

// What is a hole stays one.
static int copy_file(const char *from, const char *to, off_t size) {
    int input = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0);
    int output = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0660);
    int result = input < 0 || output < 0 || syscall(SYS_ftruncate, output, size) != 0 ? -1 : 0;
    off_t data = 0;
    while (result == 0 && (data = lseek(input, data, SEEK_DATA)) >= 0) {
        off_t hole = lseek(input, data, SEEK_HOLE);
        lseek(output, data, SEEK_SET);
        while (data < hole && result == 0)
            if (sendfile(output, input, &data, (size_t)(hole - data)) <= 0) result = -1;
    }
    close(input);
    close(output);
    return result;
}

static int copy_folder(const char *from, const char *to) {
    DIR *entries = opendir(from);
    if (entries == NULL || syscall(SYS_mkdir, to, 0750) != 0) return -1;
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(entries)) != NULL;) {
        char source[4096], target[4096];
        struct stat status;
        snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        snprintf(target, sizeof target, "%s/%s", to, entry->d_name);
        // Closing the lock file would drop the locks that this process has on it.
        if (!is_name(entry) || strcmp(entry->d_name, "lock.mdb") == 0) continue;
        if (stat(source, &status) != 0) {
            result = -1;
        } else if (S_ISDIR(status.st_mode)) {
            result = copy_folder(source, target);
        } else {
            result = copy_file(source, target, status.st_size);
        }
    }
    closedir(entries);
    return result;
}

int sim_folder_replace(const char *folder, const char *source) {
    remove_folder(folder);
    return source ? copy_folder(source, folder) : (int)syscall(SYS_mkdir, folder, 0750);
}

int sim_file_flip(const char *path, const uint8_t *bytes, size_t count) {
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0 || status.st_size == 0) {
        close(descriptor);
        return 0;
    }
    unsigned char *map = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (map == MAP_FAILED) return 0;
    int flipped = 0;
    for (unsigned char *place = map;
         (place = memmem(place, (size_t)(map + status.st_size - place), bytes, count)) != NULL; place++) {
        place[count / 2] ^= 4;
        flipped++;
    }
    munmap(map, (size_t)status.st_size);
    return flipped;
}
