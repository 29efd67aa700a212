import FoundationEssentials
import Glibc
import TestSupport

/// Has all images of a plan checked by other processes, and collects what they say. One that is
/// ended by an image is followed by another, which goes on behind it.
struct CutJury {
    let plan: String
    let cuts: [PowerCut]
    let history: DiskHistory

    /// Images that were checked.
    private(set) var imageCount = 0
    /// Notifications in all of them that had been acknowledged, and were compared.
    private(set) var acknowledgedCount = 0
    /// What was wrong, in words, with the cut's number.
    private(set) var faults: [String] = []

    /// Images that one process checks.
    private static let imagesAtOnce = 100

    init(plan: String, cuts: [PowerCut], history: DiskHistory) {
        self.plan = plan
        self.cuts = cuts
        self.history = history
    }

    /// Chooses `count` cuts of a trace and has their images checked.
    ///
    /// - Parameters:
    ///   - base: what was there before the trace.
    ///   - starts: the parts of the trace in which a program started.
    static func check(
        _ count: Int, of trace: String, on base: [BaseFile], ignoring ignored: IgnoredSyncs,
        _ changes: [String: [SentChange]], starts: [Range<Int>], mayBeAbsent: Bool = false,
        in folder: String, untilFaults faultCountMax: Int, using generator: inout SeededGenerator
    ) throws -> CutJury {
        let history = try DiskHistory(Trace(trace), on: base, ignoring: ignored)
        let cuts = CutPlan.cuts(count, history, starts: starts, using: &generator)
        let plan = CutPlan(
            trace: trace, base: base, folder: folder, ignored: ignored, changes: changes,
            cuts: cuts, mayBeAbsent: mayBeAbsent)
        try plan.write(to: "\(folder)/plan")
        var jury = CutJury(plan: "\(folder)/plan", cuts: cuts, history: history)
        try jury.check(inFolder: folder, untilFaults: faultCountMax)
        return jury
    }

    /// Stops early behind so many faults.
    private mutating func check(inFolder folder: String, untilFaults faultCountMax: Int) throws {
        var next = 0
        while next < cuts.count, faults.count < faultCountMax {
            let log = "\(folder)/said-\(next)"
            let ending = try runToEnd(
                [
                    "setpriv", "--pdeathsig", "KILL", "--", CommandLine.arguments[0], "cuts-check",
                    plan, "--from", "\(next)", "--count", "\(Self.imagesAtOnce)", "--faults",
                    "\(faultCountMax - faults.count)",
                ], log: log)
            next = try read(log, from: next, ending)
        }
    }

    /// Reads what a process said. Returns the number of the image to go on with.
    private mutating func read(
        _ log: String, from first: Int, _ ending: ProcessEnd
    ) throws -> Int {
        let text = String(decoding: try Data(contentsOf: URL(filePath: log)), as: UTF8.self)
        var (index, left, isOpen, hasEnded) = (first, "", false, false)
        var others: [Substring] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            let rest = words.count > 1 ? String(words[1]) : ""
            switch words.first {
            case "begin":
                (index, left, isOpen) = (Int(rest) ?? index, "", true)
                imageCount += 1
            case "left": left = rest
            case "whole":
                acknowledgedCount += Int(rest) ?? 0
                isOpen = false
            case "fault":
                addFault(index, left, rest)
                isOpen = false
            case "end": hasEnded = true
            default: others.append(line)
            }
        }
        if hasEnded, ending == .exited(0) { return index + 1 }
        let said = others.suffix(3).joined(separator: " | ")
        try require(isOpen && !left.isEmpty, "the check ended with \(ending): \(said)")
        addFault(index, left, "it ended the process that opened it, with \(ending): \(said)")
        return index + 1
    }

    private mutating func addFault(_ index: Int, _ left: String, _ words: String) {
        let place = cuts[index].place
        let before = history.edges.last { $0.place <= place }?.words ?? "-"
        faults.append(
            "image \(index), cut at \(place) behind \"\(before)\" with \(left): \(words)")
    }
}
