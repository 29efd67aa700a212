import SimulatedSystem
import TestSupport

/// What became of one run.
struct RunResult {
    var finding: Finding?
    var trace = ""
    var counts = World.Counts()
    var reached: [String: Int] = [:]
}

/// Runs of many seeds.
enum Campaign {
    static func play(_ swarm: Swarm, in folder: String, _ mode: Tracer.Mode = .off) -> RunResult {
        sim_folder_replace(folder, nil)
        let tracer = Tracer(mode)
        let world = World(swarm, in: folder, tracer: tracer)
        var result = RunResult()
        do {
            try world.run()
        } catch let finding as Finding {
            result.finding = finding
        } catch {
            result.finding = Finding("the simulator failed: \(Host.words("\(error)"))", "\(error)")
        }
        if let finding = result.finding { tracer.add("finding: \(finding)") }
        result.trace = tracer.finish()
        result.counts = world.counts
        result.reached = world.reached
        return result
    }

    /// Turns features, events and operations off as long as the run finds the same.
    static func shrink(_ swarm: Swarm, _ kind: String, in folder: String) -> Swarm {
        var smallest = swarm
        func holds(_ smaller: Swarm) -> Bool {
            Main.inChild { play(smaller, in: folder).finding?.kind ?? "" } == kind
        }
        func attempt(_ change: (inout Swarm) -> Void) {
            var smaller = smallest
            change(&smaller)
            if holds(smaller) { smallest = smaller }
        }
        for count in [10, 20, 40, 80, 160] where count < smallest.eventCount {
            attempt { $0.eventCount = min($0.eventCount, count) }
            if smallest.eventCount == count { break }
        }
        for feature in Swarm.Feature.allCases where smallest.has(feature) {
            attempt { $0.features.remove(feature) }
        }
        attempt { $0.nestingPercent = 0 }
        for count in 1..<smallest.hostCount { attempt { $0.hostCount = min($0.hostCount, count) } }
        var size = max(1, smallest.eventCount / 2)
        while true {
            for start in stride(from: 0, to: smallest.eventCount, by: size) {
                let range = start..<min(start + size, smallest.eventCount)
                if range.allSatisfy(smallest.dropped.contains) { continue }
                attempt { $0.dropped.formUnion(range) }
            }
            if size == 1 { return smallest }
            size /= 2
        }
    }
}
