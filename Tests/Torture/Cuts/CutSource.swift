import BlobClient
import Glibc
import TestSupport

/// A store of which a part is in the write-ahead log alone, and a backup that was taken before that.
struct CutSource {
    /// Where both lie.
    let folder: String
    /// How many ids are published to.
    let count: Int
    /// What the backup has, and what the store has, as changes from before.
    private(set) var backedUp: [String: [SentChange]] = [:]
    private(set) var stored: [String: [SentChange]] = [:]

    var backup: String { folder + "/backup" }
    var store: String { folder + "/source" }

    init(folder: String, count: Int) {
        self.folder = folder
        self.count = count
    }

    /// Makes them. The daemon that does is killed.
    mutating func make(_ bench: inout Workbench) throws {
        var daemon = try DaemonUnderTest.serving(bench, data: store)
        try publish(count * 3, &bench.generator, at: daemon.socket)
        backedUp = stored
        let ending = try runToEnd(
            [bench.blobd, "backup", backup, "--socket", bench.socket], log: bench.log)
        try require(ending == .exited(0), "backup ended with \(ending)")
        try publish(count, &bench.generator, at: daemon.socket)
        daemon.kill()
    }

    private mutating func publish(
        _ count: Int, _ generator: inout SeededGenerator, at socket: String
    ) throws {
        var connection = try BlobConnection.connect(to: socket)
        for _ in 0..<count {
            let id = "n\(generator.below(self.count))"
            var digest: String?
            if generator.chance(20) {
                do throws(ClientError) { try connection.call(.delete(id)) } catch .notFound {}
            } else {
                let payload = Payload.random(100...100_000, using: &generator)
                let request = PutRequest(id: id, mediaType: payload.mediaType)
                digest = try connection.put(request, payload.bytes().span.bytes).digest.description
            }
            stored[id] = [SentChange(digest: digest, sentAt: -1, answeredAt: -1)]
        }
    }
}

/// What is ended at any moment.
enum CutCommand: CustomStringConvertible {
    case restore, compact

    var description: String { self == .restore ? "restore" : "compact" }
}
