/// A line on standard error about something that takes over two seconds. Nothing is shown before that, or if standard
/// error is not a terminal. It is overwritten with blanks, not erased by an escape sequence, which not every terminal
/// knows.
struct StatusLine {
    let isShown = StandardError.isTerminal
    private let start = ContinuousClock.now
    private var nextDraw = ContinuousClock.now + .seconds(2)
    private var drawnCount = 0

    /// Replaces the line, but not too often.
    ///
    /// - Parameter text: gets the seconds since the start.
    mutating func draw(_ text: (Double) -> String) {
        guard isShown, ContinuousClock.now >= nextDraw else { return }
        nextDraw = .now + .milliseconds(100)
        // A line that reaches the last column would scroll.
        let text = HumanText.cut(
            text((ContinuousClock.now - start) / .seconds(1)),
            to: StandardError.width - 1)
        let rest = String(repeating: " ", count: max(0, drawnCount - text.count))
        StandardError.write("\r" + text + rest)
        drawnCount = text.count
    }

    mutating func finish() {
        guard drawnCount > 0 else { return }
        StandardError.write("\r" + String(repeating: " ", count: drawnCount) + "\r")
        drawnCount = 0
    }
}

struct ProgressBar {
    private static let cellCount = 30

    private var line = StatusLine()
    private let title: String
    private let describe: (UInt64) -> String

    init(
        _ title: String, describe: @escaping (UInt64) -> String = { HumanText.bytes($0) }
    ) {
        self.title = title
        self.describe = describe
    }

    mutating func update(_ done: UInt64, of total: UInt64) {
        line.draw { [title, describe] seconds in
            let share = total == 0 ? 1 : min(1, Double(done) / Double(total))
            let full = Int(share * Double(Self.cellCount))
            let bar =
                String(repeating: "█", count: full)
                + String(repeating: "░", count: Self.cellCount - full)
            return "\(title) \(bar) \(Int(share * 100)) %  "
                + Self.amount(done, seconds, describe)
        }
    }

    /// Of a total that is not known.
    mutating func update(_ done: UInt64) {
        line.draw { [title, describe] in "\(title)  " + Self.amount(done, $0, describe) }
    }

    private static func amount(
        _ done: UInt64, _ seconds: Double, _ describe: (UInt64) -> String
    ) -> String {
        "\(describe(done)), \(describe(UInt64(Double(done) / seconds)))/s"
    }

    mutating func finish() { line.finish() }
}
