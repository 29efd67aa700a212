import BlobStore
import TestSupport
import Testing

/// A campaign expires at once, while others are published.
@Suite(.waiting) struct MassExpiryTests {
    /// The writer removed the next 256, and freed as much as a commit took, after each batch of changes: a client that
    /// published one after the other got one through in that time.
    @Test("What is published meanwhile has half of the writer's time")
    func share() throws {
        let folder = TemporaryFolder()
        let count = 12_000
        do {
            let store = try BlobStore.open(at: "\(folder)/data")
            let past = Timestamp(milliseconds: 1_000_000_000_000)
            for start in stride(from: 0, to: count, by: 500) {
                let changes = try (start..<start + 500).map { index in
                    var writer = store.makePayloadWriter()
                    try writer.append(Array("payload \(index)".utf8).span.bytes)
                    return Change.publish(
                        Publication(
                            id: "old-\(index)", payload: try writer.finish(mediaType: "text/plain"),
                            expiry: .at(past.adding(seconds: 60))))
                }
                #expect(try store.apply(changes, asOf: past).count == 500)
            }
        }
        let daemon = try DaemonProcess(in: folder)
        let connection = try daemon.connect()
        var published = 0
        var expired = try daemon.statistic("expired")
        let first = expired
        while expired < count {
            for _ in 0..<20 {
                #expect(try connection.put("new-\(published)", [1, 2, 3]).status == 201)
                published += 1
            }
            expired = try daemon.statistic("expired")
        }
        // Before, they were one or two for 256.
        let atLeast = (count - first) / 256 * 4
        #expect(published >= atLeast, "\(published) while \(count - first) expired")
        #expect(first < count / 2, "\(first) had expired before")
        #expect(try daemon.statistic("notifications") == published)
    }
}
