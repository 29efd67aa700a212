import Glibc
import TestSupport

/// Has images checked by other processes, and collects what they say. One that an image ends is followed by another,
/// which begins with the next image.
struct CutJury {
    let ignored: IgnoredSyncs
    /// After so many faults no more images are looked at.
    let faultCountMax: Int

    /// Images that were checked.
    private(set) var imageCount = 0
    /// Different places of the traces, at which they were cut.
    private(set) var placeCount = 0
    /// Notifications in all of them that had been acknowledged, and were compared.
    private(set) var acknowledgedCount = 0
    /// What was wrong, in words, with the cut's number.
    private(set) var faults: [String] = []
    /// Where the plan of the first fault is.
    private(set) var faultyPlan: String?

    /// Images that one process checks.
    private static let imagesAtOnce = 100

    init(ignoring ignored: IgnoredSyncs, untilFaults faultCountMax: Int) {
        (self.ignored, self.faultCountMax) = (ignored, faultCountMax)
    }

    /// Chooses `count` cuts of a trace and has their images checked.
    ///
    /// - Parameters:
    ///   - base: what was there before the trace.
    ///   - starts: the parts of the trace in which a program started.
    ///   - story: what came before all of that, for people.
    mutating func check(
        _ count: Int, of trace: String, on base: [BaseFile] = [],
        _ changes: [String: [SentChange]], starts: [Range<Int>], mayBeAbsent: Bool = false,
        in folder: String, _ story: String = "", using generator: inout SeededGenerator
    ) throws {
        let history = try DiskHistory(Trace(trace), on: base, ignoring: ignored)
        let cuts = CutPlan.cuts(count, history, starts: starts, using: &generator)
        let plan = "\(folder)/plan"
        try CutPlan(
            trace: trace, base: base, folder: folder, ignored: ignored, changes: changes,
            cuts: cuts, mayBeAbsent: mayBeAbsent
        ).write(to: plan)
        placeCount += Set(cuts.map(\.place)).count
        var next = 0
        while next < cuts.count, faults.count < faultCountMax {
            let log = "\(folder)/said-\(next)"
            let command = [
                "setpriv", "--pdeathsig", "KILL", "--", CommandLine.arguments[0], "cuts-check",
                plan, "\(next)", "\(Self.imagesAtOnce)", "\(faultCountMax - faults.count)",
            ]
            let ending = try runToEnd(command, log: log)
            next = try read(log, from: next, ending) { index, words in
                let place = cuts[index].place
                let before = history.edges.last { $0.place <= place }?.words ?? "-"
                return "\(story)image \(index), cut at \(place) after \"\(before)\" with \(words)"
            }
        }
        if faultyPlan == nil, !faults.isEmpty { faultyPlan = plan }
    }

    /// Reads what a process said. Returns the number of the next image.
    private mutating func read(
        _ log: String, from first: Int, _ ending: ProcessEnd,
        _ describe: (_ index: Int, _ words: String) -> String
    ) throws -> Int {
        var (index, left, isOpen, hasEnded) = (first, "", false, false)
        var others: [Substring] = []
        for line in Files.text(log).split(separator: "\n") {
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
                faults.append(describe(index, "\(left): \(rest)"))
                isOpen = false
            case "end": hasEnded = true
            default: others.append(line)
            }
        }
        if hasEnded, ending == .exited(0) { return index + 1 }
        let said = others.suffix(3).joined(separator: " | ")
        try require(isOpen && !left.isEmpty, "the check ended with \(ending): \(said)")
        faults.append(
            describe(index, "\(left): it ended the process that opened it, with \(ending): \(said)")
        )
        return index + 1
    }
}
