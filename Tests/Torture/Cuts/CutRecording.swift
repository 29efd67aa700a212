import BlobClient
import Glibc

/// The lives of some daemons, one after the other on the same folder, as the recorder sees them.
struct CutRecording {
    let recorder: Recorder
    let publisherCount: Int
    /// How long a daemon lives.
    let milliseconds: ClosedRange<Int>
    let ledger = CutLedger()

    /// How long the trace was when the first daemon served.
    private(set) var ready = 0
    /// The parts of the trace in which the others started.
    private(set) var starts: [Range<Int>] = []

    /// The daemon frees and sweeps as eagerly as it can.
    private static let arguments = [DaemonFlag.sweep, "10ms", DaemonFlag.grace, "1ms"]

    init(recorder: Recorder, publisherCount: Int, milliseconds: ClosedRange<Int>) {
        self.recorder = recorder
        self.publisherCount = publisherCount
        self.milliseconds = milliseconds
    }

    /// Records so many daemons. All but the last are killed, some of them while they start.
    mutating func record(_ lifeCount: Int, _ bench: inout Workbench) throws {
        try require(mkdir(bench.data, 0o750) == 0, "\(bench.data): \(words(errno))")
        let data = try withoutLinks(bench.data)
        let trace = try Trace(recorder.trace)
        let prefix = recorder.prefix(watching: data)
        for life in 1...lifeCount {
            let begin = Trace.byteCount(at: recorder.trace)
            if life > 1, bench.generator.chance(50) {
                var daemon = try DaemonUnderTest(
                    starting: bench, data: data, prefix: prefix, arguments: Self.arguments)
                Clock.pause(microseconds: Int.random(in: 0...20_000, using: &bench.generator))
                daemon.kill()
                try trace.settle(in: data)
            }
            var daemon = try DaemonUnderTest.serving(
                bench, data: data, prefix: prefix, arguments: Self.arguments)
            let now = Trace.byteCount(at: recorder.trace)
            if life == 1 { ready = now } else { starts.append(begin..<now) }
            try publish(&daemon, life, isLast: life == lifeCount, &bench)
            try trace.settle(in: data)
        }
    }

    private func publish(
        _ daemon: inout DaemonUnderTest, _ life: Int, isLast: Bool, _ bench: inout Workbench
    ) throws {
        let stop = StopSign()
        let surroundings = CutPublisher.Surroundings(
            socket: bench.socket, trace: recorder.trace, ledger: ledger, seed: bench.seed)
        let threads = try Threads.start(publisherCount) { number in
            try CutPublisher(number: number, surroundings: surroundings)
                .work(round: life, until: stop)
        }
        Clock.pause(microseconds: Int.random(in: milliseconds, using: &bench.generator) * 1_000)
        let wasRunning = daemon.isRunning()
        if isLast { stop.putUp() } else { daemon.kill() }
        stop.putUp()
        try threads.join()
        try require(wasRunning, "the daemon ended by itself")
        if isLast { try daemon.stop() }
    }
}
