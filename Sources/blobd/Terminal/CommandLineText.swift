import BlobProtocol
import Bytes
import CLinux

enum CommandLineText {
    /// Refuses arguments that are not UTF-8. Swift would replace bytes with U+FFFD, which makes an id a different one.
    static func checkArguments() throws(CommandFailure) {
        for index in 1..<max(Int(CommandLine.argc), 1) {
            // argv contains `argc` C strings for the life of the process.
            guard let argument = CommandLine.unsafeArgv[index],
                String(validatingCString: argument) == nil
            else { continue }
            throw CommandFailure(.badUsage, "argument \(index) is not UTF-8")
        }
    }

    /// A lifetime such as 90, 90s, 15m, 24h or 30d, in seconds. Nil for anything else, for 0 and on overflow.
    static func seconds(_ text: String) -> Int64? {
        var digits = Substring(text)
        var factor: Int64 = 1
        if let unit = text.last, let known = ["s": 1, "m": 60, "h": 3_600, "d": 86_400][unit] {
            factor = Int64(known)
            digits = digits.dropLast()
        }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(digits), number > 0
        else { return nil }
        let (seconds, overflows) = number.multipliedReportingOverflow(by: factor)
        return overflows ? nil : seconds
    }

    static func time(_ text: String) throws(ProtocolError) -> Int64 {
        let bytes = Array(text.utf8)
        return try RFC3339.parse(bytes.span.bytes)
    }

    static func text(milliseconds: Int64) -> String {
        RFC3339.text(milliseconds)
    }
}

func wallClockMilliseconds() -> Int64 { clinux_wall_ns() / 1_000_000 }

struct Stopwatch {
    private let begin = ContinuousClock.now

    /// Elapsed seconds, rounded to milliseconds.
    var seconds: Double {
        ((ContinuousClock.now - begin) / .seconds(1) * 1_000).rounded() / 1_000
    }
}
