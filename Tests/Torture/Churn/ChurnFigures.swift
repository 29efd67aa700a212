import Synchronization
import TestSupport

/// What readers and publishers count.
enum ChurnFigure: String, CaseIterable {
    case answers = "answers whole and right"
    case mebibytes = "MiB in them"
    case outlived = "of them read to the end after their payload was replaced or deleted"
    case absent = "times none, rightly"
    /// Answers that ended early; the bytes that came were right.
    case cutOff = "cut off by the end of a daemon"
    case tooSlow = "cut off for slowness"
    case late = "left before the grace after the end of their daemon was over"
    case left = "left on purpose"
    case published, deleted
    case publishedMebibytes = "MiB published, as stored"
    case overtaken = "expired before they were stored"

    /// Bytes that are not the payload's: what must never happen.
    case wrongBytes = "with wrong bytes"
    /// An older edition than the one acknowledged before the request, or none at all.
    case stale
    /// The daemon closed the connection before all bytes had come.
    case brokenOff = "broken off"
    /// An error that nothing explains.
    case refused
}

/// What was wrong with an answer.
struct WrongAnswer: Error, CustomStringConvertible {
    let kind: ChurnFigure
    let what: String
    /// Who got it, and all else that is known of it.
    var story = ""

    init(_ kind: ChurnFigure, _ what: String) { (self.kind, self.what) = (kind, what) }

    var description: String { "\(story): \(what)" }
}

/// What all readers and publishers have seen together.
final class ChurnFigures: Sendable {
    private struct State: Sendable {
        var counts: [ChurnFigure: Int] = [:]
        var byManner: [ReadingManner: Int] = [:]
        var seen: Set<Edition> = []
        var firstWrong: WrongAnswer?
    }

    private let state = Mutex(State())

    func add(_ figure: ChurnFigure, _ count: Int = 1) {
        state.withLock { $0.counts[figure, default: 0] += count }
    }

    func count(of figure: ChurnFigure) -> Int { state.withLock { $0.counts[figure] ?? 0 } }

    /// An answer was whole and right.
    func noteRight(_ edition: Edition, _ manner: ReadingManner, byteCount: Int, isOutlived: Bool) {
        state.withLock { state in
            state.seen.insert(edition)
            state.byManner[manner, default: 0] += 1
            state.counts[.answers, default: 0] += 1
            state.counts[.mebibytes, default: 0] += byteCount
            if isOutlived { state.counts[.outlived, default: 0] += 1 }
        }
    }

    /// An answer was wrong.
    func note(_ wrong: WrongAnswer) {
        add(wrong.kind)
        state.withLock { state in
            // Wrong bytes say the most.
            let isMore = wrong.kind == .wrongBytes && state.firstWrong?.kind != .wrongBytes
            if state.firstWrong == nil || isMore { state.firstWrong = wrong }
        }
    }

    /// The first wrong answer, of those with wrong bytes if there are any.
    var firstWrong: WrongAnswer? { state.withLock { $0.firstWrong } }

    /// Figures for people.
    func words() -> [String] {
        let state = state.withLock { $0 }
        let counts = ChurnFigure.allCases.compactMap { figure -> String? in
            guard let count = state.counts[figure] else { return nil }
            let isSize = figure == .mebibytes || figure == .publishedMebibytes
            return "\(isSize ? count >> 20 : count) \(figure.rawValue)"
        }
        let manners = ReadingManner.allCases.map { "\($0.rawValue) \(state.byManner[$0] ?? 0)" }
        return counts + ["\(state.seen.count) editions seen", manners.joined(separator: ", ")]
    }
}
