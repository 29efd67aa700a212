import BlobClient
import Bytes
import TestSupport

/// A leader beside the daemon that a scenario treats badly, which follows it.
final class FollowedLeader {
    private var daemon: DaemonUnderTest

    /// Starts it below the bench's folder. It acknowledges what is in the bucket.
    init(
        _ shard: ShardUnderTest, _ bench: borrowing Workbench, idleMilliseconds: Int
    ) throws {
        daemon = try shard.serve(
            "leader", "--replicate", bench,
            arguments: [
                "--ack", "replicated", DaemonFlag.sweep, "10ms",
                DaemonFlag.idle, "\(10 * idleMilliseconds)ms",
            ])
    }

    var socket: String { daemon.socket }

    /// Waits until its follower has everything.
    func wait(for follower: borrowing DaemonUnderTest, _ when: String) throws {
        let goal = try ShardUnderTest.waitUntilShipped(daemon, when)
        try ShardUnderTest.wait(until: follower, has: goal, "the follower, \(when)")
    }

    /// Waits until its follower has everything, compares that with what was acknowledged, and ends.
    func compare(with follower: borrowing DaemonUnderTest, _ ledger: EditionLedger) throws {
        try daemon.requireRunning("by itself")
        try wait(for: follower, "at the end")
        var connection = try follower.connect()
        for id in 0..<ledger.idCount {
            let edition = Edition(seed: ledger.seed, id: id, number: ledger.acknowledged(id))
            guard edition.number > 0 else { continue }
            let found: FetchedPayload
            do throws(ClientError) { found = try connection.get(edition.name) } catch {
                switch error {
                case .notFound where edition.mayBeAbsent, .expired where edition.mayBeAbsent:
                    continue
                default: throw TestFailure("\(edition.name) at the follower: \(error)")
                }
            }
            let words = edition.words()
            let bytes = words.span.bytes.extracting(first: edition.byteCount).array()
            try require(
                !edition.isDeletion && found.bytes == bytes,
                "\(edition.name) is not edition \(edition.number) at the follower")
        }
        try daemon.stop()
    }
}
