import Glibc
import TestSupport
import Testing

/// liblmdb's table of readers was mapped from a file beside `data.mdb`, and so were the counts of what is only in the
/// log. On a file system that copies what is written, a full disk made the next write to such a page a SIGBUS: of the
/// daemon, of each start after it, and of commands that read the store. Where nothing can be allocated, glibc did it by
/// reading and writing a byte of each page, also of those that a commit was writing.
@Suite(.waiting, .enabled(if: LoopDisk.isPossible, "needs root and btrfs"))
struct FullLoopDiskTests {
    @Test(
        "On a full disk where it is not enough to allocate, payloads are served, publishes are refused, and a start succeeds",
        arguments: LoopDisk.Bound.allCases)
    func full(bound: LoopDisk.Bound) throws {
        let disk = try LoopDisk(bound)
        let folder = TemporaryFolder()
        symlink(disk.path, "\(folder)/data")
        let small = [UInt8](repeating: 1, count: 200_000)
        // Does not compress.
        var random = SeededGenerator(seed: testSeed(1))
        let large = random.bytes(3_000_000)
        do {
            let daemon = try DaemonProcess(in: folder)
            try daemon.put("a", small)
            // A commit whose sync fails, since there is no room any more, ends the daemon.
            try daemon.waitUntil("log_batches") { $0 == 0 }
            try disk.fill()
            for _ in 0..<3 {
                try disk.writeBack()
                #expect(try daemon.request("GET", "/v1/notifications/a/payload").body == small)
                #expect(try daemon.put("b", large).status == 507)
                // A few pages: there may be room for them.
                let status = try daemon.request("DELETE", "/v1/notifications/c").status
                #expect([404, 507].contains(status))
            }
            // It is read by others, too.
            try disk.writeBack()
            let read = try blobd(["get", "a", "--data", daemon.dataPath])
            #expect(read.status == 0 && read.output == small, "\(read.errors)")
            let verified = try blobd(["verify", "--data", daemon.dataPath])
            #expect(verified.status == 0, "\(verified.errors)")
            #expect(daemon.stop() == 0, "\(daemon.log)")
        }
        try disk.writeBack()
        do {
            let daemon = try DaemonProcess(in: folder)
            #expect(try daemon.request("GET", "/v1/notifications/a/payload").body == small)
            #expect(try daemon.put("b", large).status == 507)
            #expect(daemon.stop() == 0, "\(daemon.log)")
        }
        try disk.empty()
        let daemon = try DaemonProcess(in: folder)
        #expect(try daemon.put("b", large).status == 201)
    }
}
