import Glibc
import TestSupport
import Testing

/// Bytes that were changed on the disk are never sent.
@Suite(.waiting) struct DamageTests {
    @Test("A flipped bit in a payload is answered 500, and other payloads are served")
    func flipped() throws {
        let folder = TemporaryFolder()
        var random = SeededGenerator(seed: 13)
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
        #expect(try client.request("GET", "/v1/stats").member("corrupt") == "3")
    }

    /// Changes the byte that comes after `pattern` in a file.
    private func flipByte(in path: String, behind pattern: [UInt8]) throws {
        let bytes = try Files.read(path)
        guard let range = bytes.firstRange(of: pattern) else {
            throw TestFailure("the payload is not in the file")
        }
        let changed = bytes[range.upperBound] ^ 0x10
        try Files.overwrite([changed], at: range.upperBound, in: path)
    }
}
