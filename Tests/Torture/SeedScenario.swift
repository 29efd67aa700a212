import ArgumentParser
import BlobClient
import Glibc
import Replication
import TestSupport

/// How long it takes to make a store anew from the bucket.
struct SeedScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "seed",
        abstract: "A follower is made anew from a base, timed.",
        discussion: """
            A leader gets so many bytes of payloads, a quarter of them short, and writes a base. Then a follower \
            begins with nothing. The time is from its start until it serves, and until it has everything. One in \
            a hundred payloads is compared.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "Payloads in all, in MiB. With --short: 20.")
    var megabytes: Int?

    @Option(help: "The server: moto, which keeps objects in memory, or rgw, at most 4 GiB.")
    var server = "moto"

    var secondsMax: UInt32 { UInt32(clamping: 900 + total) }

    private var total: Int { megabytes ?? (options.short ? 20 : 10_000) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let shard = try ShardUnderTest(server, "seed-\(bench.seed)")
        let leader = try shard.serve(
            "leader", "--replicate", bench, arguments: ["--base-interval", "60s"])
        let (socket, seed) = (leader.socket, bench.seed)
        let filling = Clock.milliseconds()
        let threadCount = 4
        let (bytes, counts) = (Counts(threadCount), Counts(threadCount))
        let wanted = total * (1 << 20) / threadCount
        try Threads.run(threadCount) { thread in
            try Self.fill(thread, wanted, seed, at: socket, bytes, counts)
        }
        try settle([leader], withinSeconds: 600, "when it is filled")
        let filled = Clock.milliseconds() - filling
        let goal = UInt64(leader.report?.sequence ?? 0)
        let base = try waitForBase(on: try shard.bucket(), of: goal)

        let begin = Clock.milliseconds()
        let follower = try shard.serve(
            "follower", "--follow", bench, withinMilliseconds: 3_600_000)
        let serves = Clock.milliseconds() - begin
        try settle([leader, follower], withinSeconds: 600, "with the follower")
        let whole = Clock.milliseconds() - begin
        let compared = try compare(follower, threadCount, wanted, seed)
        try leader.stop()
        try follower.verifyStopped()
        let size = mebibytes(bytes.sum)
        return [
            "\(counts.sum) payloads of \(size) in \(filled / 1_000) s with \(server); tables of \(mebibytes(base))",
            "a follower serves after \(serves) ms and has everything after \(whole) ms: \(bytes.sum / 1_048_576 * 1_000 / max(1, whole)) MiB/s",
            "\(compared) payloads compared",
        ]
    }

    private static func id(_ thread: Int, _ number: Int) -> String { "seed-\(thread)-\(number)" }

    private static func body(_ thread: Int, _ number: Int, _ seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed, thread: thread, round: number)
        // Four bytes in five are of long ones, which are objects.
        let isShort = number % 4 == 0
        return generator.bytes(
            isShort ? 1_000 + generator.below(60_000) : 100_000 + generator.below(900_000))
    }

    private static func fill(
        _ thread: Int, _ wanted: Int, _ seed: UInt64, at socket: String, _ bytes: Counts,
        _ counts: Counts
    ) throws {
        var connection = try BlobConnection.connect(to: socket)
        var (sum, number) = (0, 0)
        while sum < wanted {
            let body = body(thread, number, seed)
            let request = PutRequest(
                id: id(thread, number), mediaType: "image/jpeg", lifetime: .seconds(7 * 86_400))
            do throws(ClientError) {
                _ = try connection.put(request, body.span.bytes)
            } catch {
                // The bucket takes them more slowly than the disk.
                guard case .refused(let problem) = error, problem.code == "unreplicated" else {
                    throw error
                }
                Clock.pause(microseconds: 50_000)
                continue
            }
            sum += body.count
            number += 1
        }
        bytes.set(thread, sum)
        counts.set(thread, number)
    }

    /// Waits until a base has a batch.
    ///
    /// - Returns: the bytes of its tables.
    private func waitForBase(on bucket: S3Bucket, of sequence: UInt64) throws -> Int {
        var size = 0
        let isThere = try Clock.wait(milliseconds: 300_000) {
            guard let number = try BaseManifest.numbers(on: bucket).last else { return false }
            let manifest = try BaseManifest.read(number, on: bucket)
            size = manifest.byteCount
            return manifest.sequence >= sequence || options.short
        }
        try require(isThere, "no base has batch \(sequence) within 300 s")
        return size
    }

    private func compare(
        _ follower: Host, _ threadCount: Int, _ wanted: Int, _ seed: UInt64
    ) throws -> Int {
        var connection = try follower.connect()
        var count = 0
        for thread in 0..<threadCount {
            var (sum, number) = (0, 0)
            while sum < wanted {
                let body = Self.body(thread, number, seed)
                if options.short || number % 100 == 0 {
                    let found = try connection.get(Self.id(thread, number))
                    try require(found.bytes == body, "\(Self.id(thread, number)) has other bytes")
                    count += 1
                }
                sum += body.count
                number += 1
            }
        }
        return count
    }
}
