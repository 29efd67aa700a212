import BlobStore
import Glibc
import ObjectStore
import Replication
import Synchronization
import TestSupport
import Testing

/// Long payloads go over several connections at the same time: one after the other, a leader of pictures
/// would ship as many a second as fit into the bucket's latency.
@Suite struct ConnectionsTests {
    /// How many requests are with a server at the same time.
    private final class Crowd: Sendable {
        private let now = Atomic(0)
        let most = Atomic(0)

        /// Comes, and stays until so many were there together; five seconds where they do not come.
        func meet(_ count: Int) {
            let here = now.add(1, ordering: .acquiringAndReleasing).newValue
            most.max(here, ordering: .acquiringAndReleasing)
            for _ in 0..<10_000 where most.load(ordering: .acquiring) < count { usleep(500) }
            now.subtract(1, ordering: .acquiringAndReleasing)
        }
    }

    private func bucket(_ server: ScriptedServer) throws -> S3Bucket {
        let variables = [
            "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_ENDPOINT_URL": server.url,
        ]
        let objects = try ObjectBucket("s3://test/p", environment: ProcessEnvironment(variables))
        return try S3Bucket(objects, stop: StopSignal())
    }

    @Test("Objects go over several connections at once, each of them once")
    func together() throws {
        let crowd = Crowd()
        let server = try ScriptedServer { _ in
            crowd.meet(ObjectStoreLimits.connectionCountMax)
            return [.stored]
        }
        let bucket = try bucket(server)
        try bucket.forEach(100) { (index, bucket) throws(ReplicationError) in
            try bucket.put("object-\(index)", [UInt8(index)])
        }
        #expect(crowd.most.load(ordering: .relaxed) == ObjectStoreLimits.connectionCountMax)
        let names = server.requests.map(\.target).sorted()
        #expect(names == (0..<100).map { "/test/p/object-\($0)" }.sorted())
        // The connections are used again.
        try bucket.forEach(100) { (index, bucket) throws(ReplicationError) in
            try bucket.put("object-\(index)", [UInt8(index)])
        }
        #expect(
            Set(server.requests.map(\.connection)).count <= ObjectStoreLimits.connectionCountMax)
    }

    @Test("One that fails ends the round, with its error")
    func failure() throws {
        let server = try ScriptedServer { request in
            request.target.hasSuffix("-7") ? [.error(403, "AccessDenied")] : [.stored]
        }
        let bucket = try bucket(server)
        let error = #expect(throws: ReplicationError.self) {
            try bucket.forEach(10_000) { (index, bucket) throws(ReplicationError) in
                try bucket.put("object-\(index)", [])
            }
        }
        #expect(error?.description.contains("AccessDenied") == true, "\(error as Any)")
        #expect(server.requests.count < 10_000)
    }

    @Test("What has waited goes into few segments, however late the answers are")
    func backlog() throws {
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try leader.begin()
        try leader.ship()
        let before = objects.names.filter { $0.hasPrefix("log/") }.count
        var byteCount = 0
        for index in 0..<300 {
            let bytes = SeededGenerator.bytes(40_000, seed: UInt64(index))
            try leader.store.put("waiting-\(index)", bytes)
            byteCount += bytes.count
        }
        try #require(byteCount < ReplicationLimits.segmentByteCount)
        try leader.ship()
        #expect(objects.names.filter { $0.hasPrefix("log/") }.count == before + 1)
    }

    @Test("Long payloads count for a segment, so that none waits for all of a backlog")
    func longBacklog() throws {
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try leader.begin()
        try leader.ship()
        let before = objects.names.filter { $0.hasPrefix("log/") }.count
        for index in 0..<9 {
            try leader.store.put(
                "long-\(index)", SeededGenerator.bytes(4 << 20, seed: UInt64(index)))
        }
        try leader.ship()
        #expect(objects.names.filter { $0.hasPrefix("blob/") }.count == 9)
        #expect(objects.names.filter { $0.hasPrefix("log/") }.count >= before + 3)
    }
}
