import LoadGenerator

/// A line on standard error while a run goes on for longer than two seconds; nothing when standard
/// error is not a terminal.
struct BenchProgress {
    /// Whether anybody sees it.
    let isShown = StandardError.isTerminal
    private let silentUntil = ContinuousClock.now + ProgressBar.silence
    private var hasDrawn = false
    private let title: String

    /// A line that begins with `title`.
    init(_ title: String) { self.title = title }

    /// Tells how much is stored.
    mutating func update(storing progress: LoadRun.Progress, of total: Int) {
        draw("storing \(HumanText.count(progress.requests)) of \(HumanText.count(total))")
    }

    /// Tells how the run goes.
    mutating func update(_ progress: LoadRun.Progress) {
        guard progress.isCounting else {
            draw("\(Self.seconds(progress.seconds))  warming up")
            return
        }
        draw(
            "\(Self.seconds(progress.seconds))  "
                + "\(HumanText.count(Int(progress.requestsPerSecond))) requests/s  "
                + "p99 so far \(BenchReport.number(progress.p99Microseconds)) µs")
    }

    private static func seconds(_ seconds: Double) -> String {
        let tenths = Int(seconds * 10)
        return "\(tenths / 10).\(tenths % 10) s"
    }

    private mutating func draw(_ text: String) {
        guard isShown, ContinuousClock.now >= silentUntil else { return }
        hasDrawn = true
        StandardError.write("\r\u{1B}[K\(title): \(text)")
    }

    /// Wipes the line away.
    mutating func finish() {
        guard hasDrawn else { return }
        hasDrawn = false
        StandardError.write("\r\u{1B}[K")
    }
}
