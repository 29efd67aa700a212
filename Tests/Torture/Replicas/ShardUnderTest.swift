import BlobClient
import Glibc
import ObjectStore
import Replication
import TestSupport

/// A shard in a server of S3's kind, and the daemons of it.
struct ShardUnderTest {
    /// Where it is: `s3://bucket/prefix`.
    let url: String
    /// The server.
    let server: ObjectServer

    /// Starts the server, once, and has all programs use it.
    ///
    /// - Parameters:
    ///   - kind: `moto` or `rgw`.
    ///   - name: of the shard's prefix. Others may use the server, too.
    init(_ kind: String, _ name: String) throws {
        guard let found = ObjectServer.Kind(rawValue: kind) else {
            throw TestFailure("the server is \(kind); it must be moto or rgw")
        }
        server = try ObjectServer.shared(found)
        for (name, value) in server.variables { setenv(name, value, 1) }
        url = "s3://test/\(name)"
    }

    /// A client of the shard's prefix, for one thread.
    func bucket() throws -> S3Bucket {
        try S3Bucket(
            try ObjectBucket(url, environment: ProcessEnvironment(server.variables)),
            stop: StopSignal())
    }

    /// Starts a daemon in a folder of its own below the bench's, with the store that it had, and waits until it
    /// serves.
    ///
    /// - Parameter flag: `--replicate` or `--follow`.
    func serve(
        _ name: String, _ flag: String, _ bench: borrowing Workbench, prefix: [String] = [],
        arguments: [String] = [], withinMilliseconds limit: Int = 60_000
    ) throws -> DaemonUnderTest {
        let part = Self.part(name, of: bench)
        mkdir(part.folder, 0o755)
        return try DaemonUnderTest.serving(
            part, prefix: prefix, arguments: [flag, url, "--advertise", name] + arguments,
            withinMilliseconds: limit)
    }

    /// The part of a bench that one daemon has.
    static func part(_ name: String, of bench: borrowing Workbench) -> Workbench {
        Workbench(folder: bench.folder + "/" + name, blobd: bench.blobd)
    }

    /// Waits until a daemon has a batch.
    static func wait(
        until daemon: borrowing DaemonUnderTest, has sequence: Int64, _ when: String,
        withinMilliseconds limit: Int = 120_000
    ) throws {
        var connection = try daemon.connect()
        let isThere = try Clock.wait(milliseconds: limit) {
            try connection.call(.replication).sequence ?? 0 >= sequence
        }
        try require(isThere, "\(when): batch \(sequence) does not come within \(limit / 1_000) s")
    }

    /// Waits until all that a leader has is in the bucket.
    ///
    /// - Returns: its last batch.
    @discardableResult
    static func waitUntilShipped(
        _ leader: borrowing DaemonUnderTest, _ when: String,
        withinMilliseconds limit: Int = 120_000
    ) throws -> Int64 {
        var connection = try leader.connect()
        var sequence: Int64 = 0
        let isShipped = try Clock.wait(milliseconds: limit) {
            let report = try connection.call(.replication)
            sequence = report.sequence ?? 0
            return report.segment ?? 0 > 1 && sequence == report.shippedSequence
        }
        try require(isShipped, "\(when): not everything is shipped within \(limit / 1_000) s")
        return sequence
    }
}
