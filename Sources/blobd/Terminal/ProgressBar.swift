/// A line on standard error about something that takes over two seconds. Nothing is shown before that, or if standard
/// error is not a terminal.
struct StatusLine {
    let isShown = StandardError.isTerminal
    private let start = ContinuousClock.now
    private var nextDraw = ContinuousClock.now + .seconds(2)
    private var hasDrawn = false

    /// Replaces the line, but not too often.
    ///
    /// - Parameter text: gets the seconds since the start.
    mutating func draw(_ text: (Double) -> String) {
        guard isShown, ContinuousClock.now >= nextDraw else { return }
        nextDraw = .now + .milliseconds(100)
        hasDrawn = true
        StandardError.write("\r\u{1B}[K" + text((ContinuousClock.now - start) / .seconds(1)))
    }

    mutating func finish() {
        guard hasDrawn else { return }
        hasDrawn = false
        StandardError.write("\r\u{1B}[K")
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
            let rate = describe(UInt64(Double(done) / seconds))
            return "\(title) \(bar) \(Int(share * 100)) %  \(describe(done)), \(rate)/s"
        }
    }

    mutating func finish() { line.finish() }
}
