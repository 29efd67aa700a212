import BlobClient
import Glibc
import TestSupport

/// The lives of some daemons, one after the other on the same folder, as the recorder sees them.
struct CutRecording {
    /// How it is to be.
    struct Plan {
        var publisherCount = 6
        /// How long a daemon is published to, in milliseconds.
        var milliseconds = 800...1_500
        /// How long the trace gets at most for each daemon, in bytes: it is kept in memory.
        var byteCountMax = 24 << 20
        /// Daemons, all but the last of which are killed.
        var lives = 4
        /// The number of the first, from which its publishers' choices come.
        var firstLife = 1
    }

    let recorder: Recorder
    /// A folder that is there, without links.
    let data: String
    let plan: Plan
    let ledger: Ledger

    /// How long the trace was when the first daemon served.
    private(set) var ready = 0
    /// The parts of the trace in which daemons started; the first one may have created the store.
    private(set) var starts: [Range<Int>] = []

    /// The daemon frees, sweeps and punches holes as eagerly as it can.
    private static let arguments = [
        "--sweep-interval", "10ms", "--zero-copy-grace", "1ms", "--keep-free", "0",
    ]

    /// - Parameter before: what the store in `data` has.
    init(
        _ recorder: Recorder, of data: String, _ plan: Plan, _ before: [String: [SentChange]] = [:]
    ) {
        self.recorder = recorder
        self.data = data
        self.plan = plan
        let trace = recorder.trace
        ledger = Ledger(before, keepsHistory: true) { Trace.byteCount(at: trace) }
    }

    /// Records. Some daemons are killed while they start, besides.
    mutating func record(_ bench: inout Workbench) throws {
        let trace = try Trace(recorder.trace)
        let prefix = recorder.prefix(watching: data)
        for life in 0..<plan.lives {
            let begin = Trace.byteCount(at: recorder.trace)
            if life > 0, bench.generator.chance(50) {
                var daemon = try DaemonUnderTest(
                    starting: bench, data: data, prefix: prefix, arguments: Self.arguments)
                Clock.pause(microseconds: Int.random(in: 0...20_000, using: &bench.generator))
                daemon.kill()
                try trace.complete(in: data)
            }
            // Without its log, each answer waits for LMDB's commit.
            let log = life % 2 == 1 ? ["--no-write-ahead-log"] : []
            var daemon = try DaemonUnderTest.serving(
                bench, data: data, prefix: prefix, arguments: Self.arguments + log)
            let now = Trace.byteCount(at: recorder.trace)
            if life == 0 { ready = now }
            starts.append(begin..<now)
            try publish(&daemon, life, &bench)
            try trace.complete(in: data)
        }
    }

    /// At a pace that leaves the trace small; all are quiet at the same time now and then, so that there are idle
    /// moments, too. Few payloads are compressed, and those are short: each image is inflated.
    private var publishing: Publisher.Plan {
        var publishing = Publisher.Plan()
        publishing.name = "c"
        publishing.publisherCount = plan.publisherCount
        publishing.idCount = 24
        publishing.newPercent = 10
        publishing.expiringPercent = 5
        publishing.sharedPercent = 0
        publishing.hasOwners = true
        // Now and then so many that the log has the places of their payloads.
        publishing.burstPercent = 10
        publishing.ledger = ledger
        publishing.payload = { isBurst, generator in
            let isText = !isBurst && generator.chance(5)
            let bounds =
                isBurst
                ? 28_000...40_960
                : isText
                    ? 200...4_096 : generator.chance(3) ? 250_000...330_000 : 200...40_960
            return Payload(
                seed: generator.next(), byteCount: generator.logarithmic(bounds),
                kind: isText ? .text : .noise)
        }
        publishing.rest = { generator in
            let phase = Clock.milliseconds() % 250
            if phase >= 200 { return (250 - phase) * 1_000 }
            return generator.chance(80) ? Int.random(in: 0...12_000, using: &generator) : 0
        }
        return publishing
    }

    private func publish(
        _ daemon: inout DaemonUnderTest, _ life: Int, _ bench: inout Workbench
    ) throws {
        let stop = StopSign()
        let round = plan.firstLife + life
        let crowd = Publisher.crowd(publishing, using: &bench.generator)
        let threads = try Publisher.start(
            crowd, at: [bench.socket], seed: bench.seed, round: round, until: stop)
        let end =
            Clock.milliseconds() + Int.random(in: plan.milliseconds, using: &bench.generator)
        let limit = Trace.byteCount(at: recorder.trace) + plan.byteCountMax
        while Clock.milliseconds() < end, Trace.byteCount(at: recorder.trace) < limit {
            Clock.pause(microseconds: Int.random(in: 1_000...3_000, using: &bench.generator))
        }
        let wasRunning = daemon.isRunning()
        let isLast = life == plan.lives - 1
        if !isLast { daemon.kill() }
        stop.putUp()
        try threads.join()
        try require(wasRunning, "the daemon ended by itself")
        if isLast { try daemon.stop() }
    }
}
