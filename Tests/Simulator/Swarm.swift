import TestSupport

/// What one run does: a subset of operations, faults and features, each with its own probability. All of it is drawn
/// from the seed.
struct Swarm {
    /// What can be turned off to make a failing run smaller.
    enum Feature: String, CaseIterable {
        case logging, eviction, expiry, quotas, feeds, owners, patches, parts, commits
        case readers, bulk, backlog, upkeep, scrubbing, backups, compaction, restoring, sweeping
        case unknown, refused, late, delayed, absurd, missing, away
        case kill, crash, powerCut, syncFailure, fullDisk, bitFlip, clockJump, pause
        case promote, force, autoPromote, clone, rollback, lostDisk, restart, cutOff, promoteTwo
        case lostObject, republish
    }

    let seed: UInt64
    var features: Set<Feature> = []
    var hostCount: Int
    /// How many events the safety phase has.
    var eventCount: Int
    /// Of a thousand requests, those that a fault meets.
    var faultPermille: Int
    /// Of a hundred events, those at which something happens to a host.
    var accidentPercent: Int
    /// Of a hundred requests, those within which others act.
    var nestingPercent: Int
    /// Milliseconds from one event to the next, at the most.
    var pauseMilliseconds: Int
    var idCount: Int
    var contentCount: Int
    var retentionMilliseconds: Int64
    var localByteCountMax: Int?
    /// Events that do nothing, of a run that is being made smaller.
    var dropped: Set<Int> = []

    init(seed: UInt64) {
        self.seed = seed
        var chance = SeededGenerator(seed: seed ^ 0x5A17)
        hostCount = [1, 2, 2, 2, 3, 3][chance.below(6)]
        eventCount = [40, 80, 130, 200][chance.below(4)]
        // Each is on in about a third of the runs.
        for feature in Feature.allCases where chance.chance(35) { features.insert(feature) }
        for feature in [Feature.logging, .upkeep, .commits] where chance.chance(60) {
            features.insert(feature)
        }
        for feature in [Feature.quotas, .lostObject, .republish] where chance.chance(60) {
            features.remove(feature)
        }
        // These cost time, so that few runs have them.
        for feature in [Feature.bulk, .backlog] where !chance.chance(12) {
            features.remove(feature)
        }
        faultPermille = [0, 5, 20, 60, 150][chance.below(5)]
        accidentPercent = [1, 3, 6, 12][chance.below(4)]
        nestingPercent = [0, 10, 40][chance.below(3)]
        pauseMilliseconds = [20, 300, 3_000, 60_000][chance.below(4)]
        idCount = [3, 8, 24][chance.below(3)]
        contentCount = [3, 10, 30][chance.below(3)]
        retentionMilliseconds = [400_000, 7_200_000, 604_800_000][chance.below(3)]
        if features.contains(.bulk) {
            eventCount = 40
            contentCount = 20
        }
        // Payloads are evicted, and the collector walks now and then.
        if features.contains(.republish) {
            features.formUnion([.eviction, .upkeep])
            features.remove(.lostObject)
            idCount = max(idCount, 8)
            contentCount = max(contentCount, 10)
            pauseMilliseconds = 60_000
            retentionMilliseconds = 400_000
        }
        // What the bucket has lost is on disks only: those keep it. The next base mends that.
        if features.contains(.lostObject) {
            features.subtract([.lostDisk, .clone, .rollback, .bitFlip, .eviction])
            retentionMilliseconds = 400_000
        }
        if features.contains(.eviction) { localByteCountMax = [1, 600_000][chance.below(2)] }
        if features.contains(.republish) { localByteCountMax = 1 }
    }

    func has(_ feature: Feature) -> Bool { features.contains(feature) }

    var description: String {
        let names = features.map(\.rawValue).sorted().joined(separator: " ")
        return
            "seed \(seed): \(hostCount) hosts, \(eventCount) events, faults \(faultPermille)‰, accidents \(accidentPercent)%, nesting \(nestingPercent)%, pauses to \(pauseMilliseconds) ms, \(idCount) ids, \(contentCount) contents, retention \(retentionMilliseconds / 1_000) s, local bytes \(localByteCountMax.map(String.init) ?? "all"); \(names)"
    }
}
