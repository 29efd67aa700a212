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

    /// A host in a folder of its own below the bench's, whose daemon serves.
    ///
    /// - Parameter flag: `--replicate` or `--follow`.
    func serve(
        _ name: String, _ flag: String, _ bench: Workbench, through proxy: FaultyProxy? = nil,
        prefix: [String] = [], arguments: [String] = [], withinMilliseconds limit: Int = 60_000
    ) throws -> Host {
        let host = Host(
            name, flag, of: self, in: bench, through: proxy, prefix: prefix, arguments: arguments)
        try host.start(withinMilliseconds: limit)
        return host
    }

    /// The part of a bench that one daemon has.
    static func part(_ name: String, of bench: Workbench) -> Workbench {
        Workbench(folder: bench.folder + "/" + name, blobd: bench.blobd)
    }
}
