import Glibc

/// Shows on standard error how far the comparison is: one line that changes on a terminal, a line for
/// each part elsewhere.
final class Progress {
    private let isTerminal = isatty(2) == 1
    private let begin = monotonicSeconds()
    private let secondsExpected: Double
    private var secondsDone = 0.0

    /// - Parameter secondsExpected: of all samples together.
    init(secondsExpected: Double) { self.secondsExpected = secondsExpected }

    /// A part of the comparison begins.
    func part(_ words: String) {
        clear()
        write("\(position) · \(words)\n")
    }

    /// A sample begins.
    func step(_ words: String) {
        guard isTerminal else { return }
        clear()
        write("\(position) · \(words)")
    }

    /// `40 %, 12 min left`.
    private var position: String {
        let share = min(secondsDone / max(secondsExpected, 1), 1)
        let left = Int(max(secondsExpected - secondsDone, 0) / 60) + 1
        return "\(Int(share * 100)) %, \(left) min left"
    }

    /// A sample is finished.
    func advance(_ seconds: Double) { secondsDone += seconds }

    /// All is done.
    func finish() {
        clear()
        write("done in \(Int((monotonicSeconds() - begin) / 60 + 0.5)) min\n")
    }

    private func clear() {
        if isTerminal { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        bytes.withUnsafeBytes { _ = Glibc.write(2, $0.baseAddress, $0.count) }
    }
}
