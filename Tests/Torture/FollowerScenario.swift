import BlobClient
import Synchronization
import TestSupport

/// How far a follower is behind, as a client sees it.
struct FollowerScenario: ShardScenario {
    static let about = About(
        "follower", "From a leader's answer until the follower serves the same.",
        """
        Publishers publish at a rate, and do not wait for the bucket. Of each the next notification is asked for at
        the follower, again and again, until it is there. The time is from the leader's answer to the publisher until
        then. In a short run a fifth of the rate and twenty times the lag pass.
        """)

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting(60, short: 3, "How long, in seconds.") var seconds: Int
    @Setting(1_000, short: 200, "Publishes a second, of all publishers.") var rate: Int
    @Setting(95, short: 20, "How much of that must be done, in percent.") var percentMin: Int
    @Setting(8, "How many publish at the same time.") var publishers: Int
    @Setting(1_000, "Bytes of a payload.") var bytes: Int
    @Setting(1_000, short: 20_000, "The 99th percentile that passes, in milliseconds.")
    var lagMillisecondsMax: Int

    func play(_ round: inout Round) throws -> String {
        let leader = try round.serve("leader", "--replicate")
        let follower = try round.serve("follower", "--follow")
        let crowd = round.paced(
            "paced", publishers, every: publishers * 1_000_000 / rate, bytes: bytes)
        let (to, stop) = (follower.socket, StopSign())
        let lags = Mutex<[Int]>([])
        let watching = try Threads.start(1) { _ in
            let found = try Self.watch(crowd, at: to, until: stop)
            lags.withLock { $0 = found }
        }
        let begin = Clock.milliseconds()
        let publishing = try round.start(
            crowd, at: [leader], until: StopSign(afterMilliseconds: seconds * 1_000))
        let outcome = Result { try publishing.join() }
        let took = Clock.milliseconds() - begin
        stop.putUp()
        try watching.join()
        try outcome.get()
        let count = Publisher.acknowledgedCount(crowd)
        let found = lags.withLock { $0 }
        try require(found.count == count, "\(found.count) of \(count) came to the follower")
        try require(
            crowd.allSatisfy { $0.refusedCount == 0 }, "some publishes were refused")
        try Publisher.check(crowd, at: [to], "at the follower")
        try leader.stop()
        try follower.stop()
        let done = count * 1_000 / max(1, took)
        let lag = percentile(99, of: found)
        let words =
            "\(done) publishes a second; lag of \(found.count) notifications: p50 \(percentile(50, of: found)) ms, p99 \(lag) ms, most \(found.max() ?? 0) ms"
        try require(done >= rate * percentMin / 100 && lag < lagMillisecondsMax, words)
        return words
    }

    /// Asks for each publisher's next one until all that were acknowledged have been found.
    ///
    /// - Returns: how long each was away, in milliseconds.
    private static func watch(
        _ crowd: [Publisher], at socket: String, until stop: StopSign
    ) throws -> [Int] {
        var connection = try BlobConnection.connect(to: socket)
        var lags: [Int] = []
        var next = [Int](repeating: 0, count: crowd.count)
        var movedAt = Clock.milliseconds()
        while true {
            // Read before looking: what is acknowledged later is looked at in the next turn.
            let isOver = stop.isUp
            var isWaiting = false
            let countBefore = lags.count
            for index in crowd.indices {
                while let (id, change) = crowd[index].ledger.answer(next[index]) {
                    guard try content(of: id, &connection) != nil else {
                        isWaiting = true
                        break
                    }
                    let lag = Clock.nanoseconds() - (change.answeredAt ?? 0)
                    lags.append(max(0, lag) / 1_000_000)
                    next[index] += 1
                }
            }
            if lags.count > countBefore { movedAt = Clock.milliseconds() }
            if isOver, !isWaiting { return lags }
            try require(
                Clock.milliseconds() - movedAt < 60_000, "nothing came to the follower for a minute"
            )
            Clock.pause(microseconds: 1_000)
        }
    }
}
