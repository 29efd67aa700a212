import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// The library's client, against daemons.
@Suite(.waiting) struct DaemonClientTests {
    private static let payload: [UInt8] = (0..<200_000).map {
        UInt8(truncatingIfNeeded: $0 &* 131 >> 3)
    }

    @Test func anAsyncClientStoresAndFetches() async throws {
        let daemon = try DaemonProcess()
        let client = BlobdClient(socketPath: daemon.socketPath)
        let receipt = try await client.put(
            PutRequest(id: "42", mediaType: "image/png", lifetime: .seconds(3_600)), Self.payload)
        #expect(receipt.isCreated)
        let payload = try await client.get("42")
        #expect(payload?.bytes == Self.payload)
        #expect(payload?.info.mediaType == "image/png")
        #expect(try await client.getBlob(receipt.digest)?.bytes == Self.payload)
        #expect(
            try await client.call(ifPresent: .stat("42"))?.parts.first?.digest
                == "\(receipt.digest)")
        #expect(try await client.get("43") == nil)
        #expect(try await client.call(.list()).notifications.map(\.id) == ["42"])
        #expect(try await client.call(ifPresent: .delete("42")) != nil)
        #expect(try await client.call(ifPresent: .delete("42")) == nil)
        #expect(try await client.call(.stats).notifications == 0)
    }

    /// A daemon that was restarted has closed the connection; the client makes another one by
    /// itself.
    @Test func anAsyncClientOutlivesADaemon() async throws {
        let folder = TemporaryFolder()
        let client = BlobdClient(socketPath: folder.path("s"))
        try await Self.with(folder) {
            try await client.put(PutRequest(id: "42", lifetime: .seconds(3_600)), [1, 2, 3])
        }
        await #expect(throws: ClientError.self) { try await client.get("42") }
        try await Self.with(folder) {
            let payload = try await client.get("42")
            #expect(payload?.bytes == [1, 2, 3])
        }
    }

    /// Runs a daemon for the time of `body`.
    private static func with(_ folder: TemporaryFolder, _ body: () async throws -> Void)
        async throws
    {
        let daemon = try DaemonProcess(in: folder)
        try await body()
        withExtendedLifetime(daemon) {}
    }

    @Test func aFeedGoesOnOverARestart() async throws {
        let folder = TemporaryFolder()
        let client = BlobdClient(socketPath: folder.path("s"))
        let feed = client.changes(of: "ann")
        var changes = feed.makeAsyncIterator()
        for id in ["1", "2"] {
            let daemon = try DaemonProcess(in: folder)
            try await client.call(
                .publish(NotificationUpload(id: id, owner: "ann", message: "m")))
            let change = try await changes.next()
            #expect(change?.id == id)
            #expect(change?.kind == .published)
            withExtendedLifetime(daemon) {}
        }
    }
}
