import BlobClient
import BlobProtocol
import Bytes
import TestSupport

/// One of many readers: fetches what others replace and delete meanwhile, in its own manner, and
/// compares every byte.
struct ChurnReader: Sendable {
    private let manner: ReadingManner
    private let isHTTP: Bool
    private let around: ChurnSurroundings
    private var generator: SeededGenerator

    /// A reader goes away without an answer being wrong.
    private struct Leaving: Error {
        /// Why; nil: the daemon does not wait for silent ones, and this one has not been scheduled in time.
        var figure: ChurnFigure?
    }

    /// Silence that the daemon may take for idleness, in milliseconds: less than its setting.
    private static let idleMilliseconds = ChurnScenario.idleMilliseconds / 2

    init(number: Int, _ around: ChurnSurroundings) {
        manner = .of(reader: number)
        // Every manner speaks both dialects.
        isHTTP = (number / 16 + number) % 2 == 0
        self.around = around
        generator = SeededGenerator(seed: around.ledger.seed, thread: 1_000 + number)
    }

    /// Reads until the others stop or an answer is wrong, which is noted, and `goesOnAfter` does not say otherwise.
    mutating func work(goesOnAfter: (WrongAnswer) -> Bool) throws {
        while !around.stop.isUp {
            let plan = ReadingPlan(manner, around.ledger, around.pauses, using: &generator)
            do {
                try visit(plan)
            } catch let leaving as Leaving {
                if let figure = leaving.figure { around.figures.add(figure) }
            } catch let wrong as WrongAnswer {
                around.figures.note(wrong)
                if !goesOnAfter(wrong) { return around.stop.putUp() }
            }
            rest(milliseconds: plan.restMicroseconds / 1_000)
        }
    }

    /// Does what a plan says, on one connection.
    private mutating func visit(_ plan: ReadingPlan) throws {
        let life = around.lives.now
        var link = try ReadingLink(to: around.socket, isHTTP: isHTTP)
        for (index, batch) in plan.batches.enumerated() where !around.stop.isUp {
            let oldest = batch.map { around.ledger.oldest($0.id) }
            let isFirst = index == 0
            let isLast = plan.isLast && index == plan.batches.count - 1
            guard try link.ask(batch, isFirst: isFirst, isLast: isLast) else {
                throw endedUnanswered(link, life)
            }
            if plan.pauseMilliseconds > 0, plan.pausesAfter == nil {
                awaitAnswers(link, isLast: isLast)
                rest(milliseconds: plan.pauseMilliseconds)
            }
            if isFirst, !isHTTP { _ = try head(&link, life) }
            for (wanted, oldest) in zip(batch, oldest) {
                try read(wanted, since: oldest, plan, &link, life)
            }
            if isLast, try link.byteCount > 0 || link.receive(limit: 1) {
                throw WrongAnswer(.wrongBytes, "bytes came behind the last answer")
            }
        }
    }

    /// Waits until the answers lie in the socket: until the daemon has closed its side, or nothing
    /// has been added for a while.
    private func awaitAnswers(_ link: borrowing ReadingLink, isLast: Bool) {
        var (seen, quietTurns) = (0, 0)
        let deadline = Clock.milliseconds() + 3_000
        while quietTurns < (isLast ? 20 : 5), Clock.milliseconds() < deadline, !around.stop.isUp {
            if isLast, link.isClosedByDaemon() { return }
            Clock.pause(microseconds: 10_000)
            let count = link.queuedByteCount()
            quietTurns = count > 0 && count == seen ? quietTurns + 1 : 0
            seen = count
        }
    }

    /// Lets time pass, but not beyond the end of the scenario.
    private func rest(milliseconds: Int) {
        let deadline = Clock.milliseconds() + milliseconds
        while !around.stop.isUp {
            let left = deadline - Clock.milliseconds()
            guard left > 0 else { return }
            Clock.pause(microseconds: min(left, 20) * 1_000)
        }
    }

    // MARK: One answer

    /// Reads an answer. Throws a ``WrongAnswer`` that says everything, or a reason to leave.
    private mutating func read(
        _ wanted: ReadingPlan.Wanted, since oldest: Int, _ plan: ReadingPlan,
        _ link: inout ReadingLink, _ life: DaemonLives.Life
    ) throws {
        var claimed: Int?
        do {
            let head = try head(&link, life)
            claimed = head.editionNumber
            let allowed = around.ledger.allowed(wanted.id, since: oldest)
            guard head.status < 300 else {
                return try readProblem(head, wanted.id, allowed, &link, life)
            }
            let edition = try edition(head, wanted.id, allowed)
            var check = try BodyCheck(head, of: edition, wanted: wanted)
            try readBody(head.bodyByteCount, &check, plan, &link, life)
            try check.finish()
            around.figures.noteRight(
                edition, manner, byteCount: check.byteCount,
                isOutlived: around.ledger.acknowledged(wanted.id) > edition.number)
        } catch var wrong as WrongAnswer {
            let allowed = around.ledger.allowed(wanted.id, since: oldest)
            let claim = claimed.map { "edition \($0)" } ?? "no edition"
            let past = around.lives.millisecondsSinceEnd(of: life)
            wrong.story =
                "a reader of the manner \"\(manner.rawValue)\" (\(isHTTP ? "HTTP" : "binary")) asked for "
                + "\(Edition.name(of: wanted.id)) and was answered with \(claim), where "
                + "\(allowed.lowerBound) to \(allowed.upperBound) were right"
                + (past.map { "; its daemon was told to end \($0) ms before" } ?? "")
            throw wrong
        }
    }

    private func head(_ link: inout ReadingLink, _ life: DaemonLives.Life) throws -> PayloadHead {
        while true {
            if let head = try link.withBytes({ try PayloadHead($0, isHTTP: isHTTP) }) {
                link.use(head.byteCount)
                return head
            }
            guard try link.receive(limit: 4_096) else { throw endedUnanswered(link, life) }
        }
    }

    /// The edition that a head names, if it may be that one.
    private func edition(
        _ head: PayloadHead, _ id: Int, _ allowed: ClosedRange<Int>
    ) throws -> Edition {
        guard let number = head.editionNumber else {
            throw WrongAnswer(.wrongBytes, "the media type names no edition")
        }
        let edition = Edition(seed: around.ledger.seed, id: id, number: number)
        guard allowed.contains(number), !edition.isDeletion else {
            throw WrongAnswer(.stale, "an edition that it cannot be")
        }
        around.ledger.noteSeen(edition)
        return edition
    }

    private func readBody(
        _ byteCount: Int, _ check: inout BodyCheck, _ plan: ReadingPlan,
        _ link: inout ReadingLink, _ life: DaemonLives.Life
    ) throws {
        let spoilt = around.spoils ? byteCount / 2 : -1
        var done = 0
        var mayPause = plan.pausesAfter != nil
        while done < byteCount {
            if link.byteCount == 0 {
                try receive(plan, "\(byteCount - done) bytes before an answer's end", &link, life)
            }
            var count = min(byteCount - done, link.byteCount)
            if mayPause, let place = plan.pausesAfter { count = max(1, min(count, place - done)) }
            try link.withBytes { bytes in
                guard spoilt >= done, spoilt < done + count else {
                    return try check.compare(count, of: bytes)
                }
                var changed = bytes.extracting(first: count).array()
                changed[spoilt - done] ^= 1
                try check.compare(count, of: changed.span.bytes)
            }
            link.use(count)
            done += count
            if let place = plan.vanishesAfter, done >= place { throw Leaving(figure: .left) }
            if mayPause, let place = plan.pausesAfter, done >= place {
                mayPause = false
                rest(milliseconds: plan.pauseMilliseconds)
            }
        }
    }

    /// Receives more, as slowly as the plan says, but nothing that an ended daemon had sent longer
    /// ago than the next one waits for.
    private func receive(
        _ plan: ReadingPlan, _ place: String, _ link: inout ReadingLink, _ life: DaemonLives.Life
    ) throws {
        if let past = around.lives.millisecondsSinceEnd(of: life),
            past > ChurnScenario.graceMilliseconds * 3 / 4
        {
            throw Leaving(figure: .late)
        }
        if plan.pieceMicroseconds > 0, !around.stop.isUp {
            Clock.pause(microseconds: plan.pieceMicroseconds)
        }
        let limit = around.stop.isUp ? 65_536 : plan.pieceByteCountMax
        guard try link.receive(limit: limit) else { throw ended(life, place) }
    }

    /// An answer that is no payload: that there is none, when that may be, or something wrong.
    private func readProblem(
        _ head: PayloadHead, _ id: Int, _ allowed: ClosedRange<Int>, _ link: inout ReadingLink,
        _ life: DaemonLives.Life
    ) throws {
        while link.byteCount < head.bodyByteCount {
            guard try link.receive(limit: 4_096) else { throw ended(life, "in a problem") }
        }
        let text = link.withBytes { $0.extracting(first: head.bodyByteCount).text() }
        link.use(head.bodyByteCount)
        // A daemon that stops does not wait for the bucket.
        if head.status == 503, text.contains(#""code":"stopping""#), !around.lives.isSame(as: life)
        {
            throw Leaving(figure: .cutOff)
        }
        guard head.status == 404 || head.status == 410 else {
            throw WrongAnswer(.refused, text)
        }
        guard around.ledger.mayBeAbsent(id, allowed) else {
            throw WrongAnswer(.stale, "\(head.status) for what is there: \(text)")
        }
        around.figures.add(.absent)
    }

    /// What the end of a connection means before an answer has come.
    private func endedUnanswered(
        _ link: borrowing ReadingLink, _ life: DaemonLives.Life
    ) -> any Error {
        link.byteCount == 0 && link.quietMilliseconds >= Self.idleMilliseconds
            ? Leaving() : ended(life, "before an answer")
    }

    /// What the end of a connection means.
    private func ended(_ life: DaemonLives.Life, _ place: String) -> any Error {
        guard around.lives.isSame(as: life) else { return Leaving(figure: .cutOff) }
        return life.cutsOffSlow
            ? Leaving(figure: .tooSlow)
            : WrongAnswer(.brokenOff, "the daemon closed the connection \(place)")
    }
}
