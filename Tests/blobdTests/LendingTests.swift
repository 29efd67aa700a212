import Testing

/// A daemon that ends may leave pages of its file with its peers.
@Suite struct LendingTests {
    @Test("What an earlier run may have sent is not freed within the grace; what is new is")
    func grace() throws {
        let folder = try makeTemporaryFolder()
        defer { removeFolder(folder) }
        let sweep = ["--sweep-interval", "10ms"]
        var random = SeededBytes(seed: 12)
        let first = try DaemonProcess(sweep, in: folder)
        #expect(try first.put("old", random.bytes(100_000)).status == 201)
        #expect(first.stop() == 0)

        let second = try DaemonProcess(sweep + ["--lending-grace", "24h"], in: folder)
        #expect(try second.delete("old") == 204)
        for _ in 0..<5 {
            #expect(try second.put("new", random.bytes(100_000)).status == 201)
            #expect(try second.delete("new") == 204)
            try second.waitUntil("orphan_blobs") { $0 == 1 }
        }
        #expect(second.stop() == 0)

        let third = try DaemonProcess(sweep + ["--lending-grace", "0ms"], in: folder)
        try third.waitUntil("orphan_blobs") { $0 == 0 }
    }
}

extension DaemonProcess {
    fileprivate func delete(_ id: String) throws -> Int {
        try request("DELETE", "/v1/notifications/\(id)").status
    }
}
