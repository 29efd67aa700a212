import BlobClient
import Glibc
import Replication
import TestSupport

/// Objects of a running shard are lost, cut, flipped, or replaced by another one of their kind.
struct ObjectsScenario: ShardScenario {
    static let about = About(
        "objects", "Each kind of object of a running shard is lost or damaged in each way.",
        """
        For each kind (log, manifest, part, blob, alive, store) and each damage (lost, cut, flipped, rolled back: the
        bytes of an older one) there is a shard of its own, all at the same time. One object of it is damaged, from
        outside. The leader must go on acknowledging, the follower following, bases must be made. Everything that was
        acknowledged must be on both. It is said what `restore --verify-only --all` names at once, and after two bases
        more; what is mended by then must be sound, and a host that begins from the bucket have everything.
        """)

    private enum Kind: String, CaseIterable { case log, manifest, part, blob, alive, store }
    private enum Damage: String, CaseIterable {
        case lost, cut, flipped
        case rolledBack = "rolled back"
    }

    @Setting(1, "How many rounds.") var rounds: Int
    @Setting("", "Only this kind of object.") var kind: String
    @Setting("", "Only this damage.") var damage: String

    /// A shard with one damaged object.
    private final class Trial {
        let kind: Kind
        let damage: Damage
        let shard: ShardUnderTest
        let bucket: S3Bucket
        let leader: Host
        let follower: Host
        let blobs: [String: [UInt8]]
        var name = ""
        var verdicts: [String] = []

        init(
            _ kind: Kind, _ damage: Damage, _ server: String, _ round: inout Round
        ) throws {
            (self.kind, self.damage) = (kind, damage)
            let name = "\(kind)-\(damage)"
            shard = try ShardUnderTest(server, "objects-\(round.seed)-\(name)")
            bucket = try shard.bucket()
            let arguments = ["--base-interval", "60s", "--retention", "60s"]
            leader = Host(
                "\(name)-leader", "--replicate", of: shard, in: round.bench, arguments: arguments)
            follower = Host(
                "\(name)-follower", "--follow", of: shard, in: round.bench, arguments: arguments)
            var blobs: [String: [UInt8]] = [:]
            for index in 0..<8 {
                blobs["before-\(index)"] = round.generator.bytes(index % 2 == 0 ? 900 : 150_000)
            }
            self.blobs = blobs
        }

        var title: String { "\(kind.rawValue) \(damage.rawValue)" }

        /// Whether two bases later nothing of it is left. Other bytes in a payload's place are found by who reads them;
        /// for `store.json` a leader looks every ten minutes.
        var isMended: Bool {
            switch kind {
            case .store: false
            case .blob: damage == .lost || damage == .cut
            default: true
            }
        }

        func bases() throws -> [UInt64] { try BaseManifest.numbers(on: bucket) }
    }

    func play(_ round: inout Round) throws -> String {
        var trials: [Trial] = []
        for kind in Kind.allCases where self.kind.isEmpty || self.kind == kind.rawValue {
            for damage in Damage.allCases
            where self.damage.isEmpty || self.damage == damage.rawValue {
                trials.append(try Trial(kind, damage, round.shard.server.kind.rawValue, &round))
            }
        }
        for trial in trials {
            try trial.leader.start()
            for (id, bytes) in trial.blobs { try trial.leader.put(id, bytes, replicated: true) }
        }
        // The second base has what was published; the first one may be what takes its place.
        try waitForBases(trials, "before the damage") { bases, _ in bases.count >= 2 }
        for trial in trials { try trial.follower.start() }
        for trial in trials {
            try settle([trial.leader, trial.follower], withinSeconds: 120, trial.title)
            try trial.leader.put("log", round.generator.bytes(500), replicated: true)
        }
        var newest: [UInt64] = []
        for trial in trials {
            try settle([trial.leader, trial.follower], withinSeconds: 120, trial.title)
            newest.append(try trial.bases().last ?? 0)
            try spoil(trial, using: &round.generator)
        }
        for trial in trials {
            trial.verdicts.append(try verify(trial, round))
            for turn in 1...3 {
                let bytes = round.generator.bytes(turn * 70_000)
                try trial.leader.put("after-\(turn)", bytes, replicated: true)
            }
        }
        // Two more: the first one may have begun before the damage.
        try waitForBases(trials, "after the damage") { [newest] bases, index in
            bases.count { $0 > newest[index] } >= 2 || bases.last ?? 0 > newest[index] + 4
        }
        for trial in trials { try judge(trial, &round) }
        let words = trials.map {
            "\($0.title) (\($0.name)): \($0.verdicts.joined(separator: "; "))"
        }
        return "\(trials.count) damages\n  " + words.joined(separator: "\n  ") + "\n"
    }

    private func waitForBases(
        _ trials: [Trial], _ when: String, _ isEnough: ([UInt64], Int) -> Bool
    ) throws {
        var turn = 0
        var last = ""
        let came = try Clock.wait(milliseconds: 400_000) {
            Clock.pause(microseconds: 3_000_000)
            turn += 1
            // A base is made of what is new.
            for trial in trials {
                try? trial.leader.put(
                    "turn-\(turn)", [UInt8(truncatingIfNeeded: turn)], replicated: false)
            }
            last = try trials.indices.filter { !isEnough(try trials[$0].bases(), $0) }.map {
                trials[$0].title
            }.joined(separator: ", ")
            return last.isEmpty
        }
        try require(came, "\(when) no bases are made: \(last)")
    }

    /// Damages one object.
    private func spoil(_ trial: Trial, using generator: inout SeededGenerator) throws {
        let bucket = trial.bucket
        let bases = try trial.bases()
        let (base, older) = (bases[bases.count - 1], bases[0])
        let names: (name: String, older: String)
        switch trial.kind {
        case .log:
            // The one before the last: the follower has it, the last base has not.
            let log = try bucket.names(ShardNames.logPrefix)
            names = (log[log.count - 2], log[log.count - 3])
        case .manifest: names = (ShardNames.manifest(base), ShardNames.manifest(older))
        case .part:
            names = (ShardNames.part(0, ofBase: base), ShardNames.part(0, ofBase: older))
        case .blob:
            let blobs = try bucket.names(ShardNames.blobPrefix)
            names = (blobs[blobs.count - 1], blobs[0])
        case .alive:
            let alive = try bucket.names(ShardNames.alivePrefix)
            names = (alive[alive.count - 1], ShardNames.store)
        case .store: names = (ShardNames.store, ShardNames.manifest(older))
        }
        trial.name = names.name
        guard let bytes = try bucket.get(names.name, byteCountMax: 64 << 20) else {
            throw TestFailure("\(trial.title): \(names.name) is not there")
        }
        switch trial.damage {
        case .lost: try bucket.delete(names.name)
        case .cut: try bucket.put(names.name, Array(bytes.prefix(bytes.count / 2)))
        case .flipped:
            var changed = bytes
            let bit = generator.below(8 * bytes.count)
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            try bucket.put(names.name, changed)
        case .rolledBack:
            let other = try bucket.get(names.older, byteCountMax: 64 << 20)
            try bucket.put(names.name, other ?? [])
        }
    }

    /// What a verification of the bucket says.
    private func verify(_ trial: Trial, _ round: Round) throws -> String {
        let (end, output, errors) = try TestSupport.run([
            round.bench.blobd, "restore", trial.shard.url, "--verify-only", "--all", "--json",
        ])
        if end == .exited(0) { return "sound" }
        let text = String(decoding: output, as: UTF8.self) + errors
        return text.contains(trial.name)
            ? "named" : "\(end): \(text.prefix(200).replacing("\n", with: " "))"
    }

    private func judge(_ trial: Trial, _ round: inout Round) throws {
        let (leader, follower) = (trial.leader, trial.follower)
        try leader.put("last", round.generator.bytes(300), replicated: true)
        try settle([leader, follower], withinSeconds: 120, trial.title)
        try require(leader.report?.role == "leader", "\(trial.title): the leader does not lead")
        for host in [leader, follower] { try compare(trial, host) }
        if follower.exits + leader.exits > 0 {
            trial.verdicts.append("leader restarted \(leader.exits), follower \(follower.exits)")
        }
        let later = try verify(trial, round)
        trial.verdicts.append("later: \(later)")
        let fresh = Host(
            "\(trial.kind)-\(trial.damage)-fresh", "--follow", of: trial.shard, in: round.bench)
        var lack: String?
        do {
            try fresh.start(withinMilliseconds: 30_000)
            try settle([leader, fresh], withinSeconds: 120, "\(trial.title), a new follower")
            try compare(trial, fresh)
        } catch { lack = "\(error)".prefix(300).description }
        trial.verdicts.append("a new follower: \(lack ?? "has everything")")
        try require(
            !trial.isMended || later == "sound" && lack == nil,
            "\(trial.title) is not mended: \(trial.verdicts.joined(separator: "; "))")
        fresh.kill()
        try follower.verifyStopped()
        try leader.verifyStopped()
    }

    private func compare(_ trial: Trial, _ host: Host) throws {
        for (id, bytes) in trial.blobs {
            let found = Result { try host.payload(of: id) }
            try require(
                (try? found.get()) == bytes,
                "\(trial.title): \(id) is not right on \(host.name): \(found)".prefix(300)
                    .description)
        }
        for id in ["log", "after-1", "after-2", "after-3", "last"] {
            try require(
                try host.payload(of: id) != nil, "\(trial.title): \(id) is not on \(host.name)")
        }
    }
}
