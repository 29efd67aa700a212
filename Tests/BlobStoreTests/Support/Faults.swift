import Glibc
import Synchronization
import TestSupport

/// A library that is loaded before a child's others (`LD_PRELOAD`), and makes its disk fail or ends
/// it, at a call that is counted: environment variables say which.
///
/// - `FAULT_CALL`: which calls count, in words: `sync` (`fdatasync`, `fsync`), `meta` (`pwrite` to
///   a descriptor opened with `O_DSYNC`), `log` (`pwrite` to `changes.log`, but of zeros), `mkdir`, `rename`.
/// - `FAULT_AT`: at which of these calls, counted from 1, and at every later one.
/// - `FAULT_KIND`: `eio`, `enospc` or `kill`.
/// - `FAULT_LOG`: a file that gets an `s` for each sync that reaches the kernel, an `m` for each
///   synced write, an `x` for each call that failed.
enum Faults {
    private static let built = Mutex<String?>(nil)

    /// The library's path. It is compiled once for each run.
    static func library() throws -> String {
        // Inside the lock: tests that run at once would write the same file.
        try built.withLock { built in
            if let path = built { return path }
            // Beside the other products, under a name of its own until it is whole.
            let path = Files.products + "/store-faults.so"
            let unfinished = "\(path).\(getpid())"
            try Files.write(Array(source.utf8), to: "\(unfinished).c")
            defer { Files.remove("\(unfinished).c") }
            let (lines, status) = try Child.run(
                "cc", ["-shared", "-fPIC", "-O1", "-o", unfinished, "\(unfinished).c", "-ldl"],
                errors: .output)
            guard status == .exited(0) else { throw TestFailure(lines.joined(separator: "\n")) }
            rename(unfinished, path)
            built = path
            return path
        }
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <signal.h>
        #include <stdatomic.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/stat.h>
        #include <unistd.h>
        #include <stdio.h>

        static atomic_int calls;

        static void note(char what) {
            const char *path = getenv("FAULT_LOG");
            if (!path) return;
            int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
            if (log < 0) return;
            (void)!write(log, &what, 1);
            close(log);
        }

        static int fails(const char *call) {
            const char *wanted = getenv("FAULT_CALL");
            const char *at = getenv("FAULT_AT");
            const char *kind = getenv("FAULT_KIND");
            if (!wanted || !at || !kind || !strstr(wanted, call)) return 0;
            if (atomic_fetch_add(&calls, 1) + 1 < atoi(at)) return 0;
            if (!strcmp(kind, "kill")) kill(getpid(), SIGKILL);
            note('x');
            errno = strcmp(kind, "enospc") ? EIO : ENOSPC;
            return 1;
        }

        int fdatasync(int fd) {
            static int (*next)(int);
            if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
            if (fails("sync")) return -1;
            note('s');
            return next(fd);
        }

        int fsync(int fd) {
            static int (*next)(int);
            if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
            if (fails("sync")) return -1;
            note('s');
            return next(fd);
        }

        int rename(const char *from, const char *to) {
            static int (*next)(const char *, const char *);
            if (!next) next = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
            if (fails("rename")) return -1;
            return next(from, to);
        }

        int mkdir(const char *path, mode_t mode) {
            static int (*next)(const char *, mode_t);
            if (!next) next = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
            if (fails("mkdir")) return -1;
            return next(path, mode);
        }

        static int is_log(int fd) {
            char link[64], path[4096];
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            ssize_t length = readlink(link, path, sizeof path - 1);
            if (length < 0) return 0;
            path[length] = 0;
            return strstr(path, "/changes.log") != NULL;
        }

        static ssize_t synced(int fd, const void *bytes, size_t count, off_t offset, const char *name) {
            ssize_t (*next)(int, const void *, size_t, off_t) =
                (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
            if (fcntl(fd, F_GETFL) & O_DSYNC) {
                if (fails("meta")) return -1;
                note('m');
            } else if (count > 0 && *(const char *)bytes && is_log(fd) && fails("log")) {
                return -1;
            }
            return next(fd, bytes, count, offset);
        }

        ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
            return synced(fd, bytes, count, offset, "pwrite");
        }

        ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
            return synced(fd, bytes, count, offset, "pwrite64");
        }
        """
}
