import Glibc

/// A library that is loaded before a daemon's others (`LD_PRELOAD`) and moves the time of day that it is told,
/// by as many seconds as a file says, with the boot clock. The monotonic clock goes on as it is.
public struct MovedClock: Sendable {
    private let library: String
    private let file: String

    /// Compiles the library into `folder`.
    public init(folder: String) throws {
        library = "\(folder)/clock.so"
        file = "\(folder)/clock"
        let source = "\(folder)/clock.c"
        try Files.write(Array(Self.source.utf8), to: source)
        let (end, _, errors) = try run([
            "cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source,
        ])
        try require(end == .exited(0), "cc did not compile the clock: \(errors)")
        try set(seconds: 0)
    }

    /// The environment of a program whose time of day is moved.
    public var variables: [String: String] { ["LD_PRELOAD": library, "MOVED_CLOCK": file] }

    /// The command in front of such a program.
    public var prefix: [String] { ["env"] + variables.map { "\($0)=\($1)" } }

    /// Moves the clock of all that run with ``variables``.
    public func set(seconds: Int64) throws {
        let bytes = withUnsafeBytes(of: seconds) { Array($0) }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw TestFailure(file, errno) }
        defer { close(descriptor) }
        // In place: it is mapped.
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw TestFailure(file, errno)
        }
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>

        static const volatile int64_t *moved;

        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("MOVED_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) abort();
            void *map = mmap(0, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
            if (map == MAP_FAILED) abort();
            moved = map;
            close(file);
        }

        int clock_gettime(clockid_t clock, struct timespec *now) {
            int code = syscall(SYS_clock_gettime, clock, now);
            // The boot clock, too: it is time that passes, and nobody sets the wall clock. It never was before the boot.
            if (code == 0 && moved
                && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE
                    || (clock == CLOCK_BOOTTIME && *moved > 0)))
                now->tv_sec += *moved;
            return code;
        }

        """
}
