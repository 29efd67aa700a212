import BlobClient
import Glibc
import TestSupport

/// The folder of a leader is copied, and both are used, or the copy is put back.
struct CopiedFolderScenario: ShardScenario {
    static let about = About(
        "copied-folder",
        "A leader's folder is copied and put back later, or started as a second host.",
        """
        Rolled back: the folder is copied, the leader acknowledges one more publish as replicated, is killed, the copy
        is put back, and another publish meets it at its start. The first one must be on all hosts in the end; the
        second one on all, or on none and reported as set aside. Together: the leader and a copy of its folder are
        started at once. Beside: the copy is started while the leader runs. In the end one of them leads, the other
        one follows, and everything that was acknowledged as replicated is on both.
        """)

    private enum Kind: String, CaseIterable { case rolledBack = "rolled-back", together, beside }

    @Setting(60, short: 1, "How many rounds.") var rounds: Int
    @Setting("", "What all rounds do: rolled-back, together or beside. Without it they take turns.")
    var kind: String

    func play(_ round: inout Round) throws -> String {
        let kind = Kind(rawValue: kind) ?? Kind.allCases[(round.number - 1) % Kind.allCases.count]
        let words =
            kind == .rolledBack
            ? try rollBack(&round) : try runBoth(&round, together: kind == .together)
        return "\(kind.rawValue): \(words)"
    }

    // MARK: Rolled back

    private func rollBack(_ round: inout Round) throws -> String {
        let leader = try round.serve("leader", "--replicate")
        let follower = round.host("follower", "--follow")
        let before = round.crowd("before", 2) { $0.idCount = 10 }
        let stop = StopSign()
        let threads = try round.start(before, at: [leader], until: stop)
        Clock.pause(microseconds: 300_000)
        stop.putUp()
        try threads.join()
        try settle([leader], withinSeconds: 90, "before the copy")
        try follower.start()
        let copy = leader.bench.folder + "/copy"
        // A snapshot of the running host, or of one that was down.
        let runsOn = round.generator.chance(50)
        if !runsOn { leader.kill() }
        try leader.copyData(to: copy)
        if !runsOn { try leader.start() }

        let sizes = 200...100_000
        let first = SeededGenerator.bytes(round.generator.logarithmic(sizes), seed: round.seed)
        let second = SeededGenerator.bytes(
            round.generator.chance(50) ? first.count : round.generator.logarithmic(sizes),
            seed: round.seed &+ 1)
        try leader.put("a0", first, replicated: true)
        leader.kill()
        Files.remove(leader.bench.data)
        try require(rename(copy, leader.bench.data) == 0, "the copy was not put back")
        // The first publish of this start: it is on its way before the daemon listens.
        let late = round.crowd("b", 1, waits: false, bytes: second.count...second.count) {
            ($0.idCount, $0.changesMax, $0.deletePercent, $0.mayLose) = (1, 1, 0, true)
        }
        let end = StopSign()
        let publishing = try round.start(late, at: [leader], until: end)
        try leader.begin()
        _ = try Clock.wait(milliseconds: 10_000) {
            try leader.keepRunning()
            return late[0].acknowledgedCount > 0
        }
        end.putUp()
        try publishing.join()
        let isAcknowledged = late[0].acknowledgedCount > 0

        // Whether a leader that finds itself rolled back leads again is its own choice. Where it does not, nobody
        // leads until somebody says so.
        let pair = [leader, follower]
        var settled = try? settle(pair, withinSeconds: 20, "after the copy was put back").leader
        let isPromoted = settled == nil && pair.allSatisfy { $0.report?.role == "follower" }
        if isPromoted { try follower.promote(isForced: true) }
        if settled == nil {
            settled = try settle(pair, withinSeconds: 180, "after the copy was put back").leader
        }
        let fresh = try round.serve("fresh", "--follow")
        let hosts = [leader, follower, fresh]
        try settle(hosts, withinSeconds: 180, "with a new follower")
        for host in hosts {
            let found = try host.payload(of: "a0")
            try require(
                found == first,
                "\(host.name) \(found == nil ? "has no" : "has another") a0, which was acknowledged as replicated"
            )
        }
        let sockets = hosts.map { $0.socket }
        try Publisher.check(before + late, at: sockets, "after the copy was put back")
        let isThere = try leader.payload(of: "b0-0") != nil
        if isAcknowledged, !isThere {
            let isSaved = Files.names(in: leader.bench.data)
                .contains { $0.hasPrefix("unreplicated-epoch-") }
            try require(isSaved, "b0-0 was acknowledged, and is neither there nor set aside")
            try require(
                Files.text(leader.bench.log).contains("unreplicated-epoch-"),
                "b0-0 was set aside, and the log does not say so")
        }
        for host in hosts { try host.verifyStopped() }
        let fate = isThere ? "there" : isAcknowledged ? "set aside" : "refused"
        let copied = runsOn ? "while it ran" : "while it was down"
        return
            "copied \(copied), \(settled?.name ?? "") leads\(isPromoted ? ", promoted by hand" : ""), \(leader.exits + follower.exits) exits; the late publish is \(fate)"
    }

    // MARK: Both run

    private func runBoth(_ round: inout Round, together: Bool) throws -> String {
        let first = try round.serve("first", "--replicate")
        let second = round.host("second", "--replicate")
        let hosts = [first, second]
        let crowd =
            round.crowd("r", 4) { $0.idCount = 10 }
            + round.crowd("local", 2, waits: false) { ($0.idCount, $0.mayLose) = (10, true) }
        let stop = StopSign()
        let threads = try round.start(crowd, at: hosts, until: stop)
        Clock.pause(
            microseconds: Int.random(in: 200_000...1_000_000, using: &round.generator))
        if together { first.kill() }
        try first.copyData(to: second.bench.data)
        if together { try first.begin() }
        try second.begin()
        let end = Clock.milliseconds() + (round.isShort ? 2_000 : 5_000)
        while Clock.milliseconds() < end {
            for host in hosts { try host.keepRunning() }
            Clock.pause(microseconds: 20_000)
        }
        stop.putUp()
        try threads.join()
        let settled = try settle(hosts, withinSeconds: 180, "with a copy of the folder")
        let fresh = try round.serve("fresh", "--follow")
        try settle(hosts + [fresh], withinSeconds: 180, "with a new follower")
        let count = try Publisher.check(
            crowd, at: (hosts + [fresh]).map { $0.socket }, "with a copy of the folder")
        let acknowledged = Publisher.acknowledgedCount(crowd)
        for host in hosts { try host.verifyStopped() }
        return
            "\(settled.leader.name) leads \(settled.milliseconds) ms after the load, \(first.exits) and \(second.exits) exits; \(acknowledged) changes acknowledged, \(count) compared"
    }
}
