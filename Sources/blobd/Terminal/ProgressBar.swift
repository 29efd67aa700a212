/// A bar on standard error for what takes over two seconds. Silent before that, and always when
/// standard error is not a terminal.
struct ProgressBar {
    /// How long to be silent.
    static let silence: Duration = .seconds(2)
    private static let interval: Duration = .milliseconds(100)
    private static let cellCount = 30

    private let isShown = StandardError.isTerminal
    private let start = ContinuousClock.now
    private var nextDraw = ContinuousClock.now + ProgressBar.silence
    private var hasDrawn = false
    private let title: String
    private let describe: (UInt64) -> String

    /// A bar for an amount that `describe` puts into words, such as bytes.
    init(
        _ title: String, describe: @escaping (UInt64) -> String = { HumanText.bytes($0) }
    ) {
        self.title = title
        self.describe = describe
    }

    /// Tells how far it has come.
    mutating func update(_ done: UInt64, of total: UInt64) {
        guard isShown, ContinuousClock.now >= nextDraw else { return }
        nextDraw = .now + Self.interval
        hasDrawn = true
        let share = total == 0 ? 1 : min(1, Double(done) / Double(total))
        let full = Int(share * Double(Self.cellCount))
        let bar =
            String(repeating: "█", count: full)
            + String(repeating: "░", count: Self.cellCount - full)
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        let rate = describe(UInt64(Double(done) / elapsed))
        let text = "\(title) \(bar) \(Int(share * 100)) %  \(describe(done)), \(rate)/s"
        StandardError.write("\r\u{1B}[K" + text)
    }

    /// Wipes the bar away.
    mutating func finish() {
        guard hasDrawn else { return }
        hasDrawn = false
        StandardError.write("\r\u{1B}[K")
    }
}

/// A bar for each phase of something.
final class PhaseBar {
    private var bar: ProgressBar?
    private var title = ""

    /// Tells how far a phase has come; of another one than before, a new bar begins.
    ///
    /// - Parameter isCount: whether the amounts are counts, and not bytes.
    func update(_ title: String, _ done: Int, _ total: Int, isCount: Bool = false) {
        if title != self.title {
            finish()
            bar = ProgressBar(
                title, describe: isCount ? { HumanText.count($0) } : { HumanText.bytes($0) })
            self.title = title
        }
        bar?.update(UInt64(done), of: UInt64(total))
    }

    /// Wipes the bar away.
    func finish() { bar?.finish() }
}
