import Synchronization
import TestSupport

/// What all readers and publishers have seen together.
final class ChurnFigures: Sendable {
    /// What the readers of one manner have seen.
    struct Reading: Sendable {
        /// Answers whose every byte was compared.
        var answers = 0
        /// Their bytes, as given.
        var bytes = 0
        /// Answers whose payload had been replaced or deleted before their last byte was read.
        var outlived = 0
        /// Answers that there is no such notification, rightly.
        var absent = 0
        /// Answers that the end of a daemon cut off; the bytes that came were right.
        var cutOff = 0
        /// Answers that a daemon cut off because they were read too slowly; the same holds.
        var tooSlow = 0
        /// Answers that were read so slowly that the grace after the end of their daemon was almost
        /// over; the same holds.
        var late = 0
        /// Answers the reader went away from.
        var left = 0
    }

    /// What the publishers have done.
    struct Writing: Sendable {
        var published = 0
        var publishedBytes = 0
        var deleted = 0
        /// Publishes whose life was over before they were stored.
        var overtaken = 0
    }

    private struct State: Sendable {
        var readings: [ReadingManner: Reading] = [:]
        var writing = Writing()
        var seen: Set<Edition> = []
        var firstWrong: WrongAnswer?
        var wrongCount = 0
        var symptoms: [WrongAnswer.Kind: Int] = [:]
    }

    private let state = Mutex(State())

    /// Changes the figures of a manner.
    func note(_ manner: ReadingManner, _ change: (inout Reading) -> Void) {
        state.withLock { change(&$0.readings[manner, default: Reading()]) }
    }

    /// Changes the figures of the publishers.
    func noteWriting(_ change: (inout Writing) -> Void) {
        state.withLock { change(&$0.writing) }
    }

    /// An answer was whole and right.
    func noteRight(_ edition: Edition, _ manner: ReadingManner, byteCount: Int, isOutlived: Bool) {
        state.withLock { state in
            state.seen.insert(edition)
            state.readings[manner, default: Reading()].answers += 1
            state.readings[manner, default: Reading()].bytes += byteCount
            if isOutlived { state.readings[manner, default: Reading()].outlived += 1 }
        }
    }

    /// An answer was wrong.
    func note(_ wrong: WrongAnswer) {
        state.withLock { state in
            state.symptoms[wrong.kind, default: 0] += 1
            // Wrong bytes say the most.
            if state.firstWrong == nil || (wrong.kind == .bytes && state.firstWrong?.kind != .bytes)
            {
                state.firstWrong = wrong
            }
        }
    }

    /// How many answers were wrong in this way.
    func count(of kind: WrongAnswer.Kind) -> Int { state.withLock { $0.symptoms[kind] ?? 0 } }

    /// The first wrong answer, of those with wrong bytes if there are any.
    var firstWrong: WrongAnswer? { state.withLock { $0.firstWrong } }

    /// What the publishers have done.
    var writing: Writing { state.withLock { $0.writing } }

    /// Answers that were compared, of all manners.
    var answers: Int { state.withLock { $0.readings.values.reduce(0) { $0 + $1.answers } } }

    /// Figures for people, manner by manner.
    func words() -> [String] {
        let (readings, seen, writing) = state.withLock { ($0.readings, $0.seen, $0.writing) }
        func sum(_ figure: (Reading) -> Int) -> Int {
            readings.values.reduce(0) { $0 + figure($1) }
        }
        let manners = ReadingManner.allCases.map { manner in
            let reading = readings[manner] ?? Reading()
            var words = "\(manner.rawValue) \(reading.answers)"
            if reading.left > 0 { words += " (left \(reading.left))" }
            return words
        }
        return [
            "\(sum(\.answers)) answers whole and right, \(mebibytes(sum(\.bytes)))",
            "of them \(sum(\.outlived)) read to the end after their payload was replaced or deleted",
            "by manner: \(manners.joined(separator: ", "))",
            "\(seen.count) editions seen, \(sum(\.absent)) times none",
            "\(sum(\.cutOff)) answers cut off by a kill, \(sum(\.tooSlow)) for slowness, "
                + "\(sum(\.late)) left before the grace was over, right as far as they came",
            "\(writing.published) published (\(mebibytes(writing.publishedBytes)) as stored), "
                + "\(writing.deleted) deleted"
                + (writing.overtaken > 0 ? ", \(writing.overtaken) expired on the way" : ""),
        ]
    }
}
