import FoundationEssentials
import Glibc
import Synchronization
import TestSupport

/// What the kernel says of a process.
struct ProcessFigures: Sendable {
    /// Memory that is its own (`RssAnon`), in bytes: what it allocated, not what it has mapped.
    let ownByteCount: Int
    /// All its resident memory (`VmRSS`), pages of mapped files included.
    let residentByteCount: Int
    /// The most that ever was (`VmHWM`).
    let residentByteCountMax: Int

    /// Reads `/proc/PID/status`. Throws when there is no such process.
    init(of pid: pid_t) throws {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else {
            throw TestFailure("process \(pid) is gone")
        }
        var kibibytes: [Substring: Int] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == ":" })
            if words.count >= 2, let number = Int(words[1]) { kibibytes[words[0]] = number }
        }
        ownByteCount = (kibibytes["RssAnon"] ?? 0) * 1_024
        residentByteCount = (kibibytes["VmRSS"] ?? 0) * 1_024
        residentByteCountMax = (kibibytes["VmHWM"] ?? 0) * 1_024
    }

    /// How many descriptors the process has open.
    static func descriptorCount(of pid: pid_t) throws -> Int {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
        else {
            throw TestFailure("process \(pid) is gone")
        }
        return names.count
    }

    /// The processor time it has used, in milliseconds (`utime` and `stime` of `/proc/PID/stat`).
    static func processorMilliseconds(of pid: pid_t) throws -> Int {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { throw TestFailure("process \(pid) is gone") }
        // The fields behind the name count from 3; 14 and 15 are the two times, in clock ticks.
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else {
            throw TestFailure("/proc/\(pid)/stat cannot be read")
        }
        return (user + system) * 1_000 / Int(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// Looks at a process's memory every few milliseconds and remembers the most.
final class MemoryWatch: Sendable {
    private final class Peak: Sendable {
        let byteCount = Atomic<Int>(0)
    }

    private let peak: Peak
    private let stop: StopSign
    private let threads: Threads

    /// Starts looking.
    init(_ pid: pid_t) throws {
        let peak = Peak()
        let stop = StopSign()
        self.peak = peak
        self.stop = stop
        threads = try Threads.start(1) { _ in
            while !stop.isUp, let figures = try? ProcessFigures(of: pid) {
                peak.byteCount.max(figures.ownByteCount, ordering: .relaxed)
                Clock.pause(microseconds: 10_000)
            }
        }
    }

    /// Stops looking. Returns the most memory of its own the process had, in bytes.
    func finish() throws -> Int {
        stop.putUp()
        try threads.join()
        return peak.byteCount.load(ordering: .relaxed)
    }
}

/// A count of bytes for people.
func mebibytes(_ byteCount: Int) -> String {
    "\((Double(byteCount) / 1_048_576 * 10).rounded() / 10) MiB"
}
