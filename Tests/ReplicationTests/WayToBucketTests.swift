import BlobStore
import Glibc
import ObjectStore
@testable import Replication
import Synchronization
import TestSupport
import Testing

/// The way to a bucket. Long payloads go over several connections at the same time: one after the other, a leader of
/// pictures would ship as many a second as fit into the bucket's latency. And what stands between a daemon and its bucket
/// may answer anything, for a while.
@Suite struct WayToBucketTests {
    /// How many requests are with a server at the same time.
    private final class Crowd: Sendable {
        private let now = Atomic(0)
        let most = Atomic(0)

        private let isGivenUp = Atomic(false)

        /// Comes, and stays until so many were there together; five minutes, once, where they do not come.
        func meet(_ count: Int) {
            let here = now.add(1, ordering: .acquiringAndReleasing).newValue
            most.max(here, ordering: .acquiringAndReleasing)
            let patience = Patience()
            while most.load(ordering: .acquiring) < count, !isGivenUp.load(ordering: .relaxed) {
                do { try patience.wait(orThrow: "they do not meet") } catch {
                    isGivenUp.store(true, ordering: .relaxed)
                }
            }
            now.subtract(1, ordering: .acquiringAndReleasing)
        }
    }

    private static func bucket(_ server: ScriptedServer) throws -> S3Bucket {
        let variables = [
            "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_ENDPOINT_URL": server.url,
        ]
        // A server's thread has all the time that a machine which is slow and busy may need.
        var limits = ObjectStoreLimits()
        limits.connectMilliseconds = 600_000
        limits.requestMilliseconds = 600_000
        limits.stallMilliseconds = 600_000
        let objects = try ObjectBucket(
            "s3://test/p", environment: ProcessEnvironment(variables), limits: limits)
        return try S3Bucket(objects, stop: StopSignal())
    }

    @Test("Objects go over several connections at once, each of them once")
    func together() throws {
        let crowd = Crowd()
        let server = try ScriptedServer { _ in
            crowd.meet(ObjectStoreLimits.connectionCountMax)
            return [.stored]
        }
        let bucket = try Self.bucket(server)
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
        let bucket = try Self.bucket(server)
        let error = #expect(throws: ReplicationError.self) {
            try bucket.forEach(10_000) { (index, bucket) throws(ReplicationError) in
                try bucket.put("object-\(index)", [])
            }
        }
        #expect(error?.description.contains("AccessDenied") == true, "\(error as Any)")
        #expect(server.requests.count < 10_000)
    }

    @Test(
        "What has waited goes into few segments, and long payloads count, so that none waits for all of a backlog",
        arguments: [(300, 40_000, 1...1), (9, 4 << 20, 3...9)])
    func backlog(count: Int, byteCount: Int, segmentCounts: ClosedRange<Int>) throws {
        let isLong = count * byteCount >= ReplicationLimits.segmentByteCount
        #expect(isLong == (segmentCounts.lowerBound > 1))
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try leader.begin()
        try leader.ship()
        let before = objects.count("log/")
        for index in 0..<count {
            try leader.store.put(
                "\(index)", SeededGenerator.bytes(byteCount, seed: UInt64(index)))
        }
        try leader.ship()
        #expect(segmentCounts.contains(objects.count("log/") - before))
        #expect(objects.count("blob/") == (isLong ? count : 0))
    }

    /// A bucket behind a proxy that sometimes answers by itself, and then stores nothing.
    private final class Proxy {
        let objects = StoredObjects()
        let server: ScriptedServer
        let bucket: S3Bucket

        /// - Parameter answer: the proxy's answer to a request; nil: the bucket's is passed on.
        init(
            _ answer: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Step?
        ) throws {
            server = try ScriptedServer { [objects] request in
                answer(request).map { [$0] } ?? objects.answer(request) { _ in true }
            }
            bucket = try WayToBucketTests.bucket(server)
        }
    }

    /// Any 200 for the name was taken for a request: 2.5 s of a proxy's page made every publish 503 for 20 s.
    @Test("Only a request of this shard and epoch makes a leader hand over")
    func handover() throws {
        let folder = TemporaryFolder()
        let store = try BlobStore.open(at: folder.path, options: Member.options)
        let bucket = MemoryBucket(MemoryObjects())
        #expect(try HandoverDocument.read(3, of: store.id, on: bucket) == nil)
        let request = HandoverDocument(
            storeID: store.id.description, epoch: 3, host: "b", nonce: .random())
        var other = request
        other.epoch = 2
        var foreign = request
        foreign.storeID = "0123456789abcdef0123456789abcdef"
        let pages = ["", "<html>Welcome</html>", "b", "{}"].map { Array($0.utf8) }
        for bytes in pages + [other.bytes, foreign.bytes, request.bytes.dropLast(3) + [0x0A]] {
            try bucket.put(ShardNames.handover(3), bytes)
            #expect(throws: ReplicationError.self) {
                try HandoverDocument.read(3, of: store.id, on: bucket)
            }
        }
        try bucket.put(ShardNames.handover(3), request.bytes)
        #expect(try HandoverDocument.read(3, of: store.id, on: bucket) == request)
    }

    /// A page without names that is not the last one ended every listing: the newest epoch, say, was not seen.
    @Test("An empty page that is not the last one does not end a listing, and none goes round")
    func emptyPages() throws {
        @Sendable func page(_ names: [String], next: String?) -> ScriptedServer.Step {
            let keys = names.map { "<Contents><Key>p/\($0)</Key><Size>1</Size></Contents>" }
            let end = next.map {
                "<IsTruncated>true</IsTruncated><NextContinuationToken>\($0)</NextContinuationToken>"
            }
            return .answer(
                200, ["Content-Type: application/xml"],
                body:
                    "<ListBucketResult>\(keys.joined())\(end ?? "<IsTruncated>false</IsTruncated>")</ListBucketResult>"
            )
        }
        let sparse = try Proxy { request in
            switch request.number {
            case 0: page([], next: "a")
            case 1: page(["base/1"], next: "b")
            default: page([], next: nil)
            }
        }
        #expect(try sparse.bucket.names("base/") == ["base/1"])
        let round = try Proxy { page([], next: $0.number % 2 == 0 ? "a" : "b") }
        #expect(throws: ReplicationError.self) { try round.bucket.names("base/") }
    }

    @Test("A blob's name says its number and its digest, and nothing else is one")
    func blobNames() throws {
        let hex = String(repeating: "0a", count: 32)
        let name = "blob/00000000000000000042-\(hex)"
        let parts = try #require(ShardNames.blobParts(name))
        #expect(parts.number == 42 && "\(parts.digest)" == "sha256:\(hex)")
        for other in [
            "blob/00000000000000000042", "blob/42-\(hex)", "blob/00000000000000000042-\(hex)0",
            "blob/+0000000000000000042-\(hex)", "log/00000000000000000042-\(hex)",
            "blob/00000000000000000042-\(hex.uppercased())", "\(name)-", "\(name).part",
        ] { #expect(ShardNames.blobParts(other) == nil, "\(other)") }
    }
}
