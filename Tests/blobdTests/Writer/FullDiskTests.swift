import Glibc
import TestSupport
import Testing

/// A disk without room is a state: publishes are refused, everything else goes on. The disk is a
/// small tmpfs, which only root can mount.
@Suite(.waiting, .enabled(if: SmallDisk.isPossible), .serialized) struct FullDiskTests {
    @Test("Full: 507, right reads, deletes, and publishes again after them")
    func full() throws {
        let disk = try SmallDisk(byteCount: 48 << 20)
        let daemon = try DaemonProcess(in: disk.folder)
        var random = SeededGenerator(seed: 12)
        var stored: [(id: String, body: [UInt8])] = []
        var refused: HTTPAnswer?
        for number in 0..<80 {
            let body = random.bytes(1_000_000)
            let answer = try daemon.put("\(number)", body)
            if answer.status != 201 {
                refused = answer
                break
            }
            stored.append(("\(number)", body))
        }
        #expect(refused?.status == 507 && refused?.code == "full")
        #expect(stored.count > 20)
        for (id, body) in stored {
            #expect(try daemon.request("GET", "/v1/notifications/\(id)/payload").body == body)
        }
        for (id, _) in stored.prefix(10) {
            #expect(try daemon.request("DELETE", "/v1/notifications/\(id)").status == 204)
        }
        try daemon.waitUntil("orphan_blobs") { $0 == 0 }
        #expect(try daemon.put("again", random.bytes(1_000_000)).status == 201)
        #expect(try daemon.request("GET", "/healthz").status == 200)
        for (id, body) in stored.dropFirst(10) {
            #expect(try daemon.request("GET", "/v1/notifications/\(id)/payload").body == body)
        }
        #expect(daemon.stop() == 0)
    }

    @Test("A start on a full disk ends with a message and an exit code")
    func start() throws {
        let disk = try SmallDisk(byteCount: 1 << 20)
        let filler = open("\(disk.path)/filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        let zeros = [UInt8](repeating: 0, count: 65_536)
        while write(filler, zeros, zeros.count) > 0 {}
        close(filler)
        let result = try blobd([
            "serve", "--data", "\(disk.path)/data", "--socket",
            "\(disk.path)/s",
        ])
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.hasPrefix("blobd: "))
    }
}
