import BlobClient
import Glibc
import TestSupport

/// Bytes of payloads are damaged in the data files of a leader and of its follower.
struct DamageScenario: ShardScenario {
    static let about = About(
        "damage", "Payloads are damaged on a leader and a follower; the bucket has them.",
        """
        One byte is flipped in each of 20 long payloads in the data file of the leader, then of 20 in the follower's,
        in even rounds while it runs. Fetches must serve all of them right again, without an operator, and must not
        serve a wrong byte before. `blobd scrub --wait` must end, and find no damage that is left; the other host must
        not be touched by it.
        """)

    @Setting(4, short: 1, "How many rounds.") var rounds: Int
    @Setting(20, short: 5, "Payloads that are damaged on each host.") var payloads: Int
    @Setting(30_000, "How long they may not be served, in milliseconds.")
    var healingMillisecondsMax: Int

    func play(_ round: inout Round) throws -> String {
        let leader = round.host("leader", "--replicate")
        let follower = round.host("follower", "--follow")
        let hosts = [leader, follower]
        try leader.start()
        var bodies: [String: [UInt8]] = [:]
        for index in 0..<2 * payloads {
            let size = Int.random(in: 66_000...300_000, using: &round.generator)
            let body = round.generator.bytes(size)
            try leader.put("long-\(index)", body, replicated: false)
            bodies["long-\(index)"] = body
        }
        try settle([leader], withinSeconds: 180, "at the start")
        try follower.start()
        try settle(hosts, withinSeconds: 180, "with the follower")
        var words: [String] = []
        for (number, host) in hosts.enumerated() {
            // Other payloads on each host, so that what spreads is seen.
            let ids = (number * payloads..<(number + 1) * payloads).map { "long-\($0)" }
            let runs = round.number % 2 == 0
            if !runs { try host.stop() }
            for id in ids {
                try damage(
                    bodies[id] ?? [], in: host.bench.data + "/data.mdb", using: &round.generator)
            }
            if !runs { try host.start() }
            // In some rounds the scrub meets them first, in the others the fetches do. What a process has checked
            // since its start it checks again only when it scrubs.
            let isScrubbedFirst = runs || (round.number + 1) / 2 % 2 == 0
            var first: ProcessEnd?
            if isScrubbedFirst { first = try scrub(host) }
            let took = try heal(host, ids, bodies)
            let second = try scrub(host)
            try require(
                second == .exited(0), "scrub --wait on the \(host.name) ended with \(second)")
            for other in hosts {
                for (id, body) in bodies {
                    let found = Result { try other.payload(of: id) }
                    try require(
                        (try? found.get()) == body,
                        "\(id) is not right on the \(other.name) after damage on the \(host.name): \(found)"
                            .prefix(300).description)
                }
            }
            words.append(
                "\(host.name): \(payloads) payloads right after \(took) ms\(first.map { ", the first scrub ended with \($0)" } ?? "")"
            )
        }
        try settle(hosts, withinSeconds: 90, "at the end")
        for host in hosts { try host.verifyStopped() }
        return words.joined(separator: "; ")
    }

    /// Flips a byte of a payload that is stored in a file.
    private func damage(
        _ body: [UInt8], in path: String, using generator: inout SeededGenerator
    ) throws {
        // Not over the end of a chunk.
        let offset = Int.random(in: 0..<60_000, using: &generator)
        try Files.damage(body[offset..<offset + 32], in: path)
    }

    /// Fetches payloads until all are right.
    ///
    /// - Returns: how long that took, in milliseconds.
    private func heal(_ host: Host, _ ids: [String], _ bodies: [String: [UInt8]]) throws -> Int {
        let begin = Clock.milliseconds()
        var left = ids
        var (wrong, last) = (Set<String>(), "")
        _ = try Clock.wait(milliseconds: healingMillisecondsMax) {
            try host.keepRunning()
            left = left.filter { id in
                do {
                    if try host.payload(of: id) == bodies[id] { return false }
                    last = "\(id) is gone"
                } catch {
                    if case ClientError.digestMismatch = error { wrong.insert(id) }
                    last = "\(id): \(error)"
                }
                return true
            }
            return left.isEmpty
        }
        try require(
            left.isEmpty,
            "\(left.count) of \(ids.count) payloads are not served by the \(host.name) within \(healingMillisecondsMax) ms of their damage, \(wrong.count) were served wrong: \(last)"
        )
        try require(wrong.isEmpty, "\(wrong.count) payloads were served wrong by the \(host.name)")
        return Clock.milliseconds() - begin
    }

    private func scrub(_ host: Host) throws -> ProcessEnd {
        let command = [
            "timeout", "-s", "KILL", "60", host.bench.blobd, "scrub", "--wait", "--socket",
            host.socket,
        ]
        let end = try runToEnd(command, log: host.bench.log)
        try require(
            [.exited(0), .exited(1)].contains(end),
            "scrub --wait on the \(host.name) does not end by itself within 60 s: \(end)")
        return end
    }
}
