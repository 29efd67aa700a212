import Glibc
import Testing

/// Bytes that were changed on the disk are never sent.
@Suite struct DamageTests {
    @Test("A flipped bit in a payload is answered 500, and other payloads are served")
    func flipped() throws {
        let folder = try makeTemporaryFolder()
        defer { removeFolder(folder) }
        var random = SeededBytes(seed: 13)
        let body = random.bytes(30_000)
        do {
            let daemon = try DaemonProcess(in: folder)
            try daemon.put("bad", body)
            try daemon.put("good", random.bytes(30_000))
            #expect(daemon.stop() == 0)
        }
        try flipByte(in: "\(folder)/data/data.mdb", behind: Array(body[1_000..<1_064]))
        let daemon = try DaemonProcess(in: folder)
        let client = try daemon.connect()
        for _ in 0..<2 {
            let answer = try client.request("GET", "/v1/notifications/bad/payload")
            #expect(answer.status == 500 && answer.code == "corrupt")
        }
        #expect(try client.request("GET", "/v1/notifications/good/payload").status == 200)
        let binary = try daemon.connectBinary()
        #expect(try binary.exchange(try getFrame("bad")).code == "corrupt")
        let stats = try client.request("GET", "/v1/stats")
        #expect(stats.member("corrupt") == "3")
    }

    /// Changes the byte that comes after `pattern` in a file.
    private func flipByte(in path: String, behind pattern: [UInt8]) throws {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw TestFailure("open", errno) }
        defer { close(descriptor) }
        var info = stat()
        fstat(descriptor, &info)
        var bytes = [UInt8](repeating: 0, count: Int(info.st_size))
        guard pread(descriptor, &bytes, bytes.count, 0) == bytes.count,
            let index = bytes.firstIndex(of: pattern)
        else { throw TestFailure("the payload is not in the file") }
        var changed = bytes[index + pattern.count] ^ 0x10
        guard pwrite(descriptor, &changed, 1, off_t(index + pattern.count)) == 1 else {
            throw TestFailure("pwrite", errno)
        }
    }
}
