import BlobClient
import TestSupport

/// Readers of every manner fetch what publishers replace and delete at the same time.
struct ChurnScenario: Scenario {
    static let about = About(
        "churn", "The bytes of every answer, while their pages are freed and used again.",
        """
        On a small store, so that freed pages are used again at once. Some readers are slow, some stop for seconds
        with the answers in their sockets, some go away, some read the last bytes long after the daemon has closed its
        side. Every byte says which payload and which edition it is of: each is compared, also of answers that break
        off, and the digest of whole ones. The data file is compared with the bytes that live in it.

        Scripts/torture churn --without-leases builds a daemon that frees what is still being read, for
        --expect-wrong-bytes.
        """)

    @Setting(
        60, short: 4,
        "How long, in seconds. A bucket in memory keeps every edition: some GiB a minute.")
    var seconds: Int
    @Setting(32, "How many read.") var readers: Int
    @Setting(6, "How many publish.") var publishers: Int
    @Setting(512, short: 32, "Notifications, of a quarter of a MiB on average.") var notifications:
        Int
    @Setting(
        150, short: 1_500, "The largest data file that passes, in hundredths of the live bytes.")
    var filePercentMax: Int
    @Setting(false, "Kill the daemon every few seconds, or stop it, and start it again.")
    var kills: Bool
    @Setting(
        false,
        "Let the daemon cut off who reads under 128 KiB/s. With --kills, every other one does so anyway."
    )
    var cutOffs: Bool
    @Setting(
        false,
        "Read from a follower, which is the one that is killed; its leader publishes, with the bucket's acknowledgement. An answer may be older than what is acknowledged, and never older than one before."
    )
    var follower: Bool
    @Setting(
        false,
        "Replicate to a bucket, or follow, and have less here than there is: payloads are evicted and fetched again."
    )
    var evicting: Bool
    @Setting(false, "Let daemons free at once what an earlier one may have sent, for --kills.")
    var withoutGrace: Bool
    @Setting(
        false, "Pass as soon as wrong bytes are found: without leases, or with --without-grace.")
    var expectWrongBytes: Bool
    @Setting(false, "Change bytes after they were received, so that it must fail.") var spoil: Bool

    /// How long what a daemon has sent is kept after its end, in milliseconds. The default is longer,
    /// and would leave the file no room to be judged.
    static let graceMilliseconds = 60_000
    /// When a daemon closes idle connections, in milliseconds: long before most readers that wait
    /// have read their answers.
    static let idleMilliseconds = 1_500

    /// The daemon frees as eagerly as it can, and cuts off who is slow or nobody. It stops in the
    /// middle of most answers.
    private func arguments(_ shard: ShardUnderTest?, cutsOffSlow: Bool) -> [String] {
        var replication: [String] = []
        if let shard {
            replication =
                follower
                ? ["--follow", shard.url] : ["--replicate", shard.url, "--ack", "replicated"]
        }
        // A third of the live bytes, about.
        if evicting { replication += ["--local-bytes", "\(notifications * 80)KiB"] }
        return replication + [
            "--sweep-interval", "10ms", "--keep-free", "0", "--drain-timeout", "500ms",
            "--idle-timeout", "\(Self.idleMilliseconds)ms",
            "--zero-copy-grace", withoutGrace ? "1ms" : "\(Self.graceMilliseconds)ms",
        ]
            + (cutsOffSlow
                ? ["--min-rate", "128KiB", "--rate-window", "1s"]
                : ["--min-rate", "0"])
    }

    func torture(_ bench: inout Workbench) throws -> [String] {
        try require(
            notifications >= publishers && publishers > 0 && readers > 0,
            "\(notifications) notifications for \(publishers) publishers, \(readers) readers")
        let lives = DaemonLives(cutsOffSlow: cutOffs)
        let shard =
            try follower || evicting ? ShardUnderTest(bench.server, "churn-\(bench.seed)") : nil
        let leader =
            try follower
            ? shard.map {
                try FollowedLeader($0, bench, idleMilliseconds: Self.idleMilliseconds)
            } : nil
        var daemon = try DaemonUnderTest.serving(
            bench, arguments: arguments(shard, cutsOffSlow: cutOffs))
        let ledger = EditionLedger(
            seed: bench.seed, idCount: notifications, isBehind: follower)
        let (figures, stop) = (ChurnFigures(), StopSign())
        let reading = ChurnSurroundings(
            socket: bench.socket, ledger: ledger, figures: figures, lives: lives, stop: stop,
            publisherCount: publishers, pauses: bench.isShort ? 200...1_000 : 2_000...5_000,
            spoils: spoil)
        var publishing = reading
        if let leader {
            (publishing.socket, publishing.lives) = (
                leader.socket, DaemonLives(cutsOffSlow: false)
            )
        }
        let writing = publishing
        try Threads.run(publishers) { try ChurnPublisher(number: $0, writing).fill() }
        try leader?.wait(for: daemon, "when it is filled")
        var sizes = SizeWatch(
            data: bench.data, settlesAfterMilliseconds: bench.isShort ? 2_000 : 5_000)
        let writers = try Threads.start(publishers) { number in
            var publisher = ChurnPublisher(number: number, writing)
            try stopping(stop) { try publisher.work() }
        }
        let expectsWrongBytes = expectWrongBytes
        let crowd = try Threads.start(readers) { number in
            var reader = ChurnReader(number: number, reading)
            try stopping(stop) {
                // Without leases all kinds of things go wrong; wrong bytes are what is looked for.
                try reader.work(goesOnAfter: { expectsWrongBytes && $0.kind != .wrongBytes })
            }
        }
        let begin = Clock.milliseconds()
        let outcome = Result { try watch(&daemon, &bench, shard, lives, stop, figures, &sizes) }
        stop.putUp()
        let joined = Result { try writers.join() }
        try crowd.join()
        if expectWrongBytes { return try foundWords(figures, begin) }
        if let wrong = figures.firstWrong {
            throw TestFailure("\(wrong)\n  \(figures.words().joined(separator: "\n  "))")
        }
        let killCount = try outcome.get()
        try joined.get()
        try leader?.compare(with: daemon, ledger)
        return try finish(&daemon, &bench, figures, sizes, killCount)
    }

    /// Looks at the sizes every second, and kills the daemon now and then, until the time is over or
    /// something is wrong. Returns how often it was killed.
    private func watch(
        _ daemon: inout DaemonUnderTest, _ bench: inout Workbench, _ shard: ShardUnderTest?,
        _ lives: DaemonLives, _ stop: StopSign, _ figures: ChurnFigures, _ sizes: inout SizeWatch
    ) throws -> Int {
        let begin = Clock.milliseconds()
        let end = begin + seconds * 1_000
        var (nextLook, nextWords, killCount) = (begin + 500, begin + 60_000, 0)
        var nextKill = begin + killPause(&bench)
        while Clock.milliseconds() < end, !stop.isUp {
            Clock.pause(microseconds: 20_000)
            let now = Clock.milliseconds()
            if kills, now >= nextKill {
                try daemon.requireRunning("by itself")
                lives.willEnd()
                // Also one that ends in order leaves pages behind in its readers' sockets.
                if bench.generator.chance(25) {
                    try daemon.stop()
                } else {
                    daemon.kill()
                }
                let cutsOffSlow = cutOffs || killCount.isMultiple(of: 2)
                daemon = try DaemonUnderTest.serving(
                    bench, arguments: arguments(shard, cutsOffSlow: cutsOffSlow))
                lives.hasBegun(cutsOffSlow: cutsOffSlow)
                sizes.noteStart()
                killCount += 1
                nextKill = Clock.milliseconds() + killPause(&bench)
            }
            if now >= nextLook {
                nextLook = now + 1_000
                try daemon.requireRunning("by itself")
                var connection = try daemon.connect()
                try sizes.look(&connection)
            }
            if now >= nextWords {
                nextWords = now + 60_000
                say(
                    "churn: \((now - begin) / 1_000) s, \(figures.count(of: .answers)) answers right, "
                        + sizes.figures(isKilled: kills))
            }
        }
        return killCount
    }

    private func killPause(_ bench: inout Workbench) -> Int {
        Int.random(in: bench.isShort ? 500...1_500 : 2_000...5_000, using: &bench.generator)
    }

    /// Compares the sizes, and stops and verifies the store.
    private func finish(
        _ daemon: inout DaemonUnderTest, _ bench: inout Workbench, _ figures: ChurnFigures,
        _ sizes: SizeWatch, _ killCount: Int
    ) throws -> [String] {
        let evictions = evicting ? try evictionWords(daemon) : []
        try daemon.stop()
        try verify(bench, "after the churn")
        let turnover = figures.count(of: .publishedMebibytes) / max(1, sizes.fileByteCount)
        let words =
            figures.words()
            + [sizes.figures(isKilled: kills), "\(turnover) times the file's size was published"]
            + (kills ? ["\(killCount) kills and stops"] : []) + evictions
        let percent = kills ? sizes.keptPercentMax : sizes.percentMax
        // Within the seconds of a short run nothing is stable, but a store that frees nothing grows without end.
        try require(
            percent <= filePercentMax,
            "all bytes were right, and the data file took \(percent) % of the live bytes; the limit is "
                + "\(filePercentMax) %\n  " + words.joined(separator: "\n  "))
        return words
    }

    /// How often payloads were evicted and fetched since the daemon's last start.
    private func evictionWords(_ daemon: borrowing DaemonUnderTest) throws -> [String] {
        let numbers = try HTTPClient.metrics(of: daemon.socket)
        let evicted = numbers["blobd_evictions_total"] ?? 0
        let fetched = numbers["blobd_bucket_fetches_total{result=\"fetched\"}"] ?? 0
        let failed = numbers["blobd_bucket_fetches_total{result=\"failed\"}"] ?? 0
        // A daemon that was just started evicts nothing that the one before may have sent.
        try require(
            kills || (evicted > 0 && fetched > 0), "\(evicted) evicted, \(fetched) fetched")
        return ["\(evicted) payloads evicted, \(fetched) fetched, \(failed) fetches failed"]
    }

    /// What was found in a daemon without leases.
    private func foundWords(_ figures: ChurnFigures, _ begin: Int) throws -> [String] {
        let took = (Clock.milliseconds() - begin) / 1_000
        let others =
            "\(figures.count(of: .brokenOff)) answers broken off, "
            + "\(figures.count(of: .refused)) refused, \(figures.count(of: .stale)) stale"
        guard let wrong = figures.firstWrong, wrong.kind == .wrongBytes else {
            throw TestFailure(
                "no wrong bytes were found within \(took) s, where some had to be: \(others)\n  "
                    + figures.words().joined(separator: "\n  "))
        }
        return [
            "as expected, wrong bytes were found after \(took) s and \(figures.count(of: .answers)) right answers",
            "\(wrong)", others,
        ]
    }
}

/// Tells all to stop when one fails.
private func stopping(_ stop: StopSign, _ body: () throws -> Void) throws {
    do {
        try body()
    } catch {
        stop.putUp()
        throw error
    }
}
