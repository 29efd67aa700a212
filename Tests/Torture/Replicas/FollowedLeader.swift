import BlobClient
import TestSupport

/// A leader beside the daemon that a scenario treats badly, which follows it.
final class FollowedLeader {
    private let host: Host

    /// Starts it below the bench's folder. It acknowledges what is in the bucket.
    init(_ shard: ShardUnderTest, _ bench: Workbench, idleMilliseconds: Int) throws {
        host = Host(
            "leader", "--replicate", of: shard, in: bench,
            arguments: [
                "--ack", "replicated", "--sweep-interval", "10ms", "--idle-timeout",
                "\(10 * idleMilliseconds)ms",
            ])
        try host.start()
    }

    var socket: String { host.socket }

    /// Waits until its follower has everything.
    func wait(for follower: borrowing DaemonUnderTest, _ when: String) throws {
        try settle([host], withinSeconds: 120, when)
        let goal = host.report?.sequence ?? 0
        var connection = try follower.connect()
        try Clock.wait(
            milliseconds: 120_000,
            orThrow: "\(when): batch \(goal) does not come to the follower within 120 s"
        ) {
            try connection.call(.replication).sequence ?? 0 >= goal
        }
    }

    /// Waits until its follower has everything, compares that with what was acknowledged, and ends.
    func compare(with follower: borrowing DaemonUnderTest, _ ledger: EditionLedger) throws {
        try require(host.exits == 0, "the leader exited by itself")
        try wait(for: follower, "at the end")
        for id in 0..<ledger.idCount {
            let edition = Edition(seed: ledger.seed, id: id, number: ledger.acknowledged(id))
            guard edition.number > 0 else { continue }
            // The bytes of the one before may have taken longer to make than a connection may be idle.
            var connection = try follower.connect()
            let found: FetchedPayload
            do throws(ClientError) { found = try connection.get(edition.name) } catch {
                switch error {
                case .notFound where edition.mayBeAbsent, .expired where edition.mayBeAbsent:
                    continue
                default: throw TestFailure("\(edition.name) at the follower: \(error)")
                }
            }
            try require(
                !edition.isDeletion && found.bytes == edition.payload.bytes(),
                "\(edition.name) is not edition \(edition.number) at the follower")
        }
        try host.stop()
    }
}
