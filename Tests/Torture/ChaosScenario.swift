import BlobClient
import Glibc
import TestSupport

/// Two hosts of a shard are killed and promoted at random.
struct ChaosScenario: ShardScenario {
    static let about = About(
        "chaos", "Two hosts are killed and promoted at random, under publishers and readers.",
        """
        Both hosts evict long payloads. At random one of them is killed and started again, is promoted (with --force
        only when the other one was just killed), or is backed up. Some publishers wait for the bucket, some do not.
        Then everything stops but the daemons: one must lead, everything must be shipped, both must have the same and
        all that was acknowledged as replicated, and be sound.
        """)

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting(60, short: 8, "How long a round's faults last, in seconds.") var seconds: Int

    func play(_ round: inout Round) throws -> String {
        let arguments = [
            "--local-bytes", "4MiB", "--base-interval", "60s", "--sweep-interval", "200ms",
        ]
        let hosts = [
            round.host("a", "--replicate", arguments), round.host("b", "--follow", arguments),
        ]
        let sockets = hosts.map { $0.socket }
        try hosts[0].start()
        try settle([hosts[0]], withinSeconds: 90, "at the start")
        try hosts[1].start()
        let news = News()
        let replicated = round.crowd("replicated", 4, bytes: 200...300_000) {
            $0.rest = { _ in 10_000 }
            $0.news = news
        }
        let local = round.crowd("local", 2, waits: false, bytes: 200...300_000) {
            $0.rest = { _ in 10_000 }
            $0.news = news
            $0.mayLose = true
        }
        let stop = StopSign()
        let threads = try round.start(replicated + local, at: hosts, until: stop)
        let readers = try Threads.start(2) { _ in try news.read(at: sockets, until: stop) }
        var figures = Figures()
        let fault = Result { try torment(hosts, &figures, &round.generator) }
        stop.putUp()
        try threads.join()
        try readers.join()
        try fault.get()
        let settled = try settle(hosts, withinSeconds: 180, "after the faults")
        let count = try Publisher.check(
            replicated + local, at: [settled.leader.socket] + sockets, "after the faults")
        for host in hosts { try host.verifyStopped() }
        let acknowledged = Publisher.acknowledgedCount(replicated)
        return
            "\(figures.kills) kills, \(figures.promotions) of \(figures.attempts) promotions, \(figures.forced) forced, \(figures.backups) backups, \(hosts.reduce(0) { $0 + $1.exits }) exits; \(acknowledged) changes acknowledged as replicated; settled after \(settled.milliseconds) ms, \(count) compared"
    }

    private struct Figures {
        var (kills, attempts, forced, backups) = (0, 0, 0, 0)
        var promotions = 0
    }

    /// Does something to one of the hosts, again and again, until the time is over.
    private func torment(
        _ hosts: [Host], _ figures: inout Figures, _ generator: inout SeededGenerator
    ) throws {
        let end = Clock.milliseconds() + seconds * 1_000
        let promotions = Counts(2)
        var promoting: [Threads] = []
        while Clock.milliseconds() < end {
            let rest = Clock.milliseconds() + Int.random(in: 100...1_500, using: &generator)
            while Clock.milliseconds() < rest {
                for host in hosts { try host.keepRunning() }
                Clock.pause(microseconds: 10_000)
            }
            let index = generator.below(2)
            let host = hosts[index]
            switch generator.below(10) {
            case 0..<5:
                host.kill()
                figures.kills += 1
                if generator.chance(25) {
                    figures.forced += 1
                    try? hosts[1 - index].promote(isForced: true)
                }
                Clock.pause(microseconds: Int.random(in: 0...800_000, using: &generator))
                try host.begin()
            case 5..<8:
                figures.attempts += 1
                let socket = host.socket
                // It takes up to ten seconds, in which the next thing is done to either host.
                promoting.append(
                    try Threads.start(1) { _ in
                        guard var connection = try? BlobConnection.connect(to: socket),
                            (try? connection.call(.promote())) != nil
                        else { return }
                        promotions.add(1, at: index)
                    })
            default:
                figures.backups += 1
                _ = try runToEnd(
                    [
                        host.bench.blobd, "backup", "--socket", host.socket,
                        host.bench.folder + "/backup",
                    ], log: host.bench.log)
                Files.remove(host.bench.folder + "/backup")
            }
        }
        for threads in promoting { try threads.join() }
        figures.promotions = promotions.sum
    }
}
