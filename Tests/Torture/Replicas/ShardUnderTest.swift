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
}
