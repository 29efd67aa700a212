/// A system call in a trace of strace (`-f -ttt -T -o`).
///
/// What came first is told by the lines, not by their times: strace writes the line of an event
/// before the thread goes on, so an event that another one caused is always on a later line. The
/// times are of two clocks, for figures only.
public struct SystemCall: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// What stands between the name's bracket and the end of the line.
    public let text: String
    /// The lines on which it began and ended, from 0. Equal when no other event came in between.
    public let lines: ClosedRange<Int>
    /// When it was made and when it ended, in seconds.
    public let seconds: ClosedRange<Double>

    /// What the call returned; nil for -1 and for addresses.
    public var result: Int? {
        guard let equals = text.lastIndex(of: "=") else { return nil }
        return Int(text[equals...].dropFirst(2).prefix { $0.isNumber })
    }

    /// Whether it ended before the other one began.
    public func precedes(_ other: SystemCall) -> Bool {
        lines.upperBound < other.lines.lowerBound
    }

    /// Reads a trace, in the order in which the calls began. Calls that did not return are left out.
    ///
    /// Another thread's event cuts a call in two lines: `fdatasync(9 <unfinished ...>` and later
    /// `<... fdatasync resumed>) = 0 <0.000135>`. They are joined to the text of an uncut one.
    public static func read(_ trace: String) -> [SystemCall] {
        var cut: [Substring: Start] = [:]
        var calls: [SystemCall] = []
        for (number, line) in trace.split(separator: "\n").enumerated() {
            let fields = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
            guard fields.count == 3, let time = Double(fields[1]) else { continue }
            let (thread, rest) = (fields[0], fields[2])
            if rest.hasPrefix("<... ") {
                guard let start = cut.removeValue(forKey: thread),
                    let tail = rest.firstIndex(of: ">").map({ rest[rest.index(after: $0)...] })
                else { continue }
                calls.append(start.ended(tail, number, max(start.time, time)))
                continue
            }
            guard let bracket = rest.firstIndex(of: "(") else { continue }
            let start = Start(
                name: rest[..<bracket], text: rest[rest.index(after: bracket)...], line: number,
                time: time)
            if rest.hasSuffix(Self.cutMark) {
                cut[thread] = start.withoutMark
            } else {
                calls.append(start.ended("", number, time + duration(rest)))
            }
        }
        return calls.sorted { $0.lines.lowerBound < $1.lines.lowerBound }
    }

    private static let cutMark = " <unfinished ...>"

    private struct Start {
        var name: Substring
        var text: Substring
        var line: Int
        var time: Double

        var withoutMark: Start {
            var start = self
            start.text = text.dropLast(SystemCall.cutMark.count)
            return start
        }

        func ended(_ tail: Substring, _ number: Int, _ end: Double) -> SystemCall {
            SystemCall(
                name: String(name), text: String(text + tail), lines: line...number,
                seconds: time...end)
        }
    }

    /// The seconds in angle brackets at the end of a line (`-T`).
    private static func duration(_ line: Substring) -> Double {
        guard line.hasSuffix(">"), let open = line.lastIndex(of: "<") else { return 0 }
        return Double(line[line.index(after: open)...].dropLast()) ?? 0
    }
}
