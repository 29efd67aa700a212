import BlobClient
import Glibc
import Replication
import TestSupport

/// How long it takes to make a store anew from the bucket.
struct SeedScenario: ShardScenario {
    static let about = About(
        "seed", "How long a follower takes to start from a base.",
        """
        A leader gets so many bytes of payloads, a quarter of them short, and writes a base. Then a follower begins
        with nothing. The time is from its start until it serves, and until it has everything. One in a hundred
        payloads is compared. moto keeps objects in memory; rgw has room for 4 GiB.
        """)

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting(10_000, short: 20, "Payloads in all, in MiB.") var megabytes: Int

    func play(_ round: inout Round) throws -> String {
        let leader = try round.serve("leader", "--replicate", ["--base-interval", "60s"])
        let filling = Clock.milliseconds()
        let publishers = 4
        let changes = max(1, megabytes * (1 << 20) / publishers / 420_000)
        let crowd = round.paced("seed", publishers, every: 0) {
            $0.changesMax = changes
            $0.payload = { _, generator in
                // Nearly all bytes are of long ones, which are objects: 420 KB on average.
                let isShort = generator.chance(25)
                let byteCount =
                    isShort ? 1_000 + generator.below(60_000) : 100_000 + generator.below(900_000)
                return Payload(seed: generator.next(), byteCount: byteCount, kind: .noise)
            }
        }
        try round.start(crowd, at: [leader], until: StopSign()).join()
        try settle([leader], withinSeconds: 600, "when it is filled")
        let filled = Clock.milliseconds() - filling
        let goal = UInt64(leader.report?.sequence ?? 0)
        let base = try waitForBase(on: try round.shard.bucket(), of: goal, round.isShort)

        let begin = Clock.milliseconds()
        let follower = try round.serve("follower", "--follow", withinSeconds: 3_600)
        let serves = Clock.milliseconds() - begin
        try settle([leader, follower], withinSeconds: 600, "with the follower")
        let whole = Clock.milliseconds() - begin
        // In no round.
        let compared = try Publisher.check(
            crowd, at: [follower.socket], round: .max, sampling: round.isShort ? 1 : 100, "seeded")
        var connection = try follower.connect()
        let bytes = try statistic("bytes_stored", &connection)
        try leader.stop()
        try follower.verifyStopped()
        return
            "\(Publisher.acknowledgedCount(crowd)) payloads of \(mebibytes(bytes)) in \(filled / 1_000) s; tables of \(mebibytes(base)); a follower serves after \(serves) ms and has everything after \(whole) ms: \((bytes >> 20) * 1_000 / max(1, whole)) MiB/s; \(compared) payloads compared"
    }

    /// Waits until a base has a batch, or in a short run for any.
    ///
    /// - Returns: the bytes of its tables.
    private func waitForBase(
        on bucket: S3Bucket, of sequence: UInt64, _ isShort: Bool
    ) throws -> Int {
        var size = 0
        try Clock.wait(milliseconds: 300_000, orThrow: "no base has batch \(sequence) within 300 s")
        {
            guard let number = try BaseManifest.numbers(on: bucket).last else { return false }
            let manifest = try BaseManifest.read(number, on: bucket)
            size = manifest.byteCount
            return manifest.sequence >= sequence || isShort
        }
        return size
    }
}
