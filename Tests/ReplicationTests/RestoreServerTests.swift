import BlobStore
import Dispatch
import ObjectStore
import Synchronization
import TestSupport
import Testing

@testable import Replication

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
        let alive = AliveDocument(
            storeID: history.leader.store.id.description, epoch: 1, host: "leader",
            since: history.clock.now, counter: 1, segment: 2, time: history.clock.now)
        history.objects[ShardNames.alive(1)] = alive.bytes
        for (name, bytes) in history.objects.all {
            #expect(try bucket.create(name, bytes) == .created)
        }
        #expect(try bucket.create(ShardNames.store, [1]) == .exists)
        #expect(try bucket.names("") == history.objects.names)

        let oldest = try BaseManifest.read(
            try #require(try BaseManifest.numbers(on: bucket).first), on: bucket)
        let sequence = try #require(history.anySequence(from: oldest.sequence))
        let folder = TemporaryFolder()
        /// Expects that the program ends with this code and says this.
        func blobd(_ code: Int32, _ words: String, _ arguments: String...) throws {
            let (end, output, errors) = try run(
                ["\(Files.products)/blobd"] + arguments, environment: variables)
            let text = String(decoding: output, as: UTF8.self) + errors
            #expect(end.code == code && text.contains(words), "\(arguments): \(text)")
        }
        let data = folder.path("data")
        try blobd(
            0, "\"sequence\":\(sequence)", "restore", url, "--data", data, "--sequence",
            "\(sequence)", "--json")
        #expect(
            try BlobStore.openReadOnly(at: data).tablesDigest() == history.digests[sequence])
        try blobd(1, "without a store", "restore", url, "--data", data)
        try blobd(
            1, "every base is later", "restore", url, "--data", folder.path("early"),
            "--at", "2001-01-01T00:00:00Z")
        try blobd(0, "verified batch", "restore", url, "--verify-only")
        try blobd(0, "verified batches", "restore", url, "--verify-only", "--all")
        let part = ShardNames.part(0, ofBase: oldest.position.number)
        try bucket.delete(part)
        for words in ["\"clean\":false", "the object \(part) is missing"] {
            try blobd(1, words, "restore", url, "--verify-only", "--all", "--json")
        }
        try bucket.put(part, try #require(history.objects[part]))
        try blobd(2, "", "restore", url, "--all", "--data", "x")
        try blobd(2, "", "restore", "/nowhere", "--data", "x", "--at", "now")
        // It restored the newest state, without a word.
        try blobd(
            2, "is in the future", "restore", url, "--data", folder.path("future"), "--at",
            "2999-01-01T00:00:00Z")

        for words in [
            "leader    leader, epoch 1, since", "base/ ", "a month   at the rate of the last ",
        ] {
            try blobd(0, words, "replicas", url)
        }
        try blobd(0, "\"epoch\":1", "replicas", url, "--json")
        try blobd(1, "no shard", "replicas", "s3://test/nothing-here")
    }
}
