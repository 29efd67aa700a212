import BlobStore
import Dispatch
import ObjectStore
import Replication
import Synchronization
import TestSupport
import Testing

/// Restoring from another's server, in this process and by the program.
@Suite struct RestoreServerTests {
    @Test(
        "A shard in moto is restored, verified and described",
        .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func moto() async throws {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "restore").async {
                continuation.resume(with: Result { try Self.restore(from: .moto) })
            }
        }
    }

    private static func restore(from kind: ObjectServer.Kind) throws {
        let variables = try ObjectServer.shared(kind).variables
        let url = "s3://test/r\(UInt32.random(in: .min ... .max))"
        let objects = try ObjectBucket(url, environment: ProcessEnvironment(variables))
        let bucket = try S3Bucket(objects, stop: StopSignal())
        let history = try TestHistory(
            seed: 9,
            schedule: BaseSchedule(
                intervalMilliseconds: 300_000, retentionMilliseconds: 600_000))
        try history.run(60, stepSeconds: 30)
        for (name, bytes) in history.objects.all {
            #expect(try bucket.create(name, bytes) == .created)
        }
        #expect(try bucket.create(ShardNames.store, [1]) == .exists)
        #expect(try bucket.names("") == history.objects.names)

        let oldest = try BaseManifest.read(
            try #require(try BaseManifest.numbers(on: bucket).first), on: bucket)
        let sequence = try #require(history.anySequence(from: oldest.sequence))
        let folder = TemporaryFolder()
        func blobd(_ arguments: String...) throws -> (Int32, String) {
            let (end, output, errors) = try run(
                ["\(Files.products)/blobd"] + arguments, environment: variables)
            return (end.code, String(decoding: output, as: UTF8.self) + errors)
        }
        let (status, text) = try blobd(
            "restore", url, "--data", folder.path("data"), "--sequence", "\(sequence)", "--json")
        #expect(status == 0 && text.contains("\"sequence\":\(sequence)"), "\(text)")
        #expect(
            try BlobStore.openReadOnly(at: folder.path("data")).tablesDigest()
                == history.digests[sequence])
        let (again, refusal) = try blobd("restore", url, "--data", folder.path("data"))
        #expect(again == 1 && refusal.contains("without a store"), "\(refusal)")
        let (early, missing) = try blobd(
            "restore", url, "--data", folder.path("early"), "--at", "2001-01-01T00:00:00Z")
        #expect(early == 1 && missing.contains("no base is at or before that"), "\(missing)")
        let (verified, words) = try blobd("restore", url, "--verify-only")
        #expect(verified == 0 && words.hasPrefix("verified batch"), "\(words)")
        let (all, everything) = try blobd("restore", url, "--verify-only", "--all")
        #expect(all == 0 && everything.hasPrefix("verified batches"), "\(everything)")
        let part = ShardNames.part(0, ofBase: oldest.position.number)
        try bucket.delete(part)
        let (damaged, problems) = try blobd("restore", url, "--verify-only", "--all", "--json")
        #expect(damaged == 1 && problems.contains("\"clean\":false"), "\(problems)")
        #expect(problems.contains("the object \(part) is missing"), "\(problems)")
        try bucket.put(part, try #require(history.objects[part]))
        let (alone, _) = try blobd("restore", url, "--all", "--data", "x")
        #expect(alone == 2)
        let (usage, _) = try blobd("restore", "/nowhere", "--data", "x", "--at", "now")
        #expect(usage == 2)

        let (described, report) = try blobd("replicas", url)
        #expect(described == 0, "\(report)")
        #expect(report.contains("leader    leader, epoch 1, since"), "\(report)")
        #expect(report.contains("pack/ "), "\(report)")
        print(report)
        let (listed, json) = try blobd("replicas", url, "--json")
        #expect(listed == 0 && json.contains("\"epoch\":1"), "\(json)")
        let (nothing, none) = try blobd("replicas", "s3://test/nothing-here")
        #expect(nothing == 1 && none.contains("no shard"), "\(none)")
    }
}
