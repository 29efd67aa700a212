import Glibc
import LoadGenerator
import Synchronization

enum Terminal {
    /// Prints a result.
    static func print(_ text: String) throws(LoadFailure) {
        Swift.print(text, terminator: "")
        guard fflush(nil) == 0 else {
            throw LoadFailure(.system, "standard output: \(String(cString: strerror(errno)))")
        }
    }

    /// Says something on standard error.
    static func note(_ text: String) { write("load: \(text)\n") }

    fileprivate static func write(_ text: String) {
        _ = text.utf8CString.withUnsafeBytes {
            Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count - 1)
        }
    }
}

/// A line on standard error that changes, from two seconds on. Only on a terminal.
struct StatusLine {
    let isShown = isatty(STDERR_FILENO) == 1
    private let first = ContinuousClock.now + .seconds(2)
    private var isDrawn = false

    mutating func draw(_ text: String) {
        guard isShown, ContinuousClock.now >= first else { return }
        Terminal.write("\r\u{1B}[K\(text)")
        isDrawn = true
    }

    mutating func finish() {
        if isDrawn { Terminal.write("\r\u{1B}[K") }
        isDrawn = false
    }
}

/// SIGINT and SIGTERM.
enum Interruption {
    private static let noted = Atomic<Int32>(0)

    /// The one that came, if one did.
    static var signal: Int32? {
        let number = noted.load(ordering: .relaxed)
        return number == 0 ? nil : number
    }

    /// Notes the first one. A second one ends the process at once.
    static func handle() {
        // Made here, and not in a handler.
        noted.store(0, ordering: .relaxed)
        for number in [SIGINT, SIGTERM] {
            _ = Glibc.signal(number) { number in
                Interruption.noted.store(number, ordering: .relaxed)
                _ = Glibc.signal(SIGINT, SIG_DFL)
                _ = Glibc.signal(SIGTERM, SIG_DFL)
            }
        }
    }
}

enum NumberText {
    /// `1,234,567`.
    static func count(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        groups.insert(digits, at: 0)
        return (number < 0 ? "-" : "") + groups.joined(separator: ",")
    }
}
