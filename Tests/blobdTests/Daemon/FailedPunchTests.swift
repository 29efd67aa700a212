import Glibc
import TestSupport
import Testing

/// Holes that cannot be punched into `data.mdb`.
@Suite(.waiting, .disabled(if: hasSanitizer, "the sanitizer is loaded first"))
struct FailedPunchTests {
    /// A library whose `fallocate` fails with `FAULT_ERRNO` where it punches a hole, so long as `FAULT_FILE` exists. Each
    /// punch is a byte in `FAULT_LOG`: `x` for one that failed.
    private static func library(in folder: TemporaryFolder) throws -> String {
        let path = "\(folder)/punch"
        let source = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <fcntl.h>
            #include <stdlib.h>
            #include <unistd.h>

            static int punch(const char *name, int fd, int mode, off_t offset, off_t length) {
                int (*next)(int, int, off_t, off_t) =
                    (int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, name);
                if (!(mode & 2)) return next(fd, mode, offset, length);
                int fails = access(getenv("FAULT_FILE"), F_OK) == 0;
                int log = open(getenv("FAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
                (void)!write(log, fails ? "x" : ".", 1);
                close(log);
                if (!fails) return next(fd, mode, offset, length);
                errno = atoi(getenv("FAULT_ERRNO"));
                return -1;
            }

            int fallocate(int fd, int mode, off_t offset, off_t length) {
                return punch("fallocate", fd, mode, offset, length);
            }

            int fallocate64(int fd, int mode, off_t offset, off_t length) {
                return punch("fallocate64", fd, mode, offset, length);
            }
            """
        try Files.write(Array(source.utf8), to: "\(path).c")
        let compiled = try run(["cc", "-shared", "-fPIC", "-o", "\(path).so", "\(path).c"])
        try require(compiled.0 == .exited(0), compiled.2)
        return "\(path).so"
    }

    /// A daemon with 48 MiB of free pages in its file, which it returns, or cannot.
    private static func daemon(_ number: Int32, in folder: TemporaryFolder) throws -> DaemonProcess
    {
        let library = try library(in: folder)
        try Files.write([], to: "\(folder)/fails")
        let daemon = try DaemonProcess(
            ["--sweep-interval", "20ms"], in: folder,
            under: [
                "env", "LD_PRELOAD=\(library)", "FAULT_ERRNO=\(number)",
                "FAULT_FILE=\(folder)/fails", "FAULT_LOG=\(folder)/punches",
            ])
        let payload = SeededGenerator.bytes(12 << 20)
        for index in 0..<4 {
            var bytes = payload
            bytes[0] = UInt8(index)
            try require(try daemon.put("n\(index)", bytes).status == 201, "not stored")
        }
        for index in 0..<4 {
            _ = try daemon.request("DELETE", "/v1/notifications/n\(index)")
        }
        try daemon.waitUntil("orphan_blobs") { $0 == 0 }
        return daemon
    }

    private static func punches(_ folder: TemporaryFolder) -> String {
        Files.text("\(folder)/punches")
    }

    /// The first failure ended it for good, and nothing was said.
    @Test("A punch that fails is said and tried again", arguments: [EIO, ENOSPC])
    func failed(number: Int32) throws {
        let folder = TemporaryFolder()
        let daemon = try Self.daemon(number, in: folder)
        let words = "Cannot return free pages to the file system: fallocate data.mdb failed"
        try daemon.waitForLog(words)
        let full = try daemon.statistic("allocated_bytes")
        Files.remove("\(folder)/fails")
        try daemon.waitUntil("allocated_bytes") { $0 < full - (24 << 20) }
        #expect(daemon.stop() == 0)
        let lines = daemon.log.split(separator: "\n").filter { $0.contains(words) }
        #expect(lines.count == 1, "\(daemon.log)")
        #expect(Self.punches(folder).contains("x."))
    }

    @Test("A file system that cannot punch holes is asked once, and that is said")
    func unsupported() throws {
        let folder = TemporaryFolder()
        let daemon = try Self.daemon(EOPNOTSUPP, in: folder)
        try daemon.waitForLog("Operation not supported")
        let before = try daemon.statistic("syncs")
        for index in 0..<8 {
            try daemon.put("m\(index)", [UInt8(index)])
            _ = try daemon.request("DELETE", "/v1/notifications/m\(index)")
        }
        try daemon.waitUntil("syncs") { $0 > before + 8 }
        #expect(Self.punches(folder) == "x")
        #expect(daemon.stop() == 0)
    }
}
