import Glibc
import TestSupport

/// What the kernel says of a process. All throw when there is no such process.
enum ProcessFigures {
    /// Memory that it has allocated (`RssAnon`), in bytes, without what it has mapped.
    static func ownByteCount(of pid: pid_t) throws -> Int {
        let lines = Files.text("/proc/\(pid)/status").split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("RssAnon:") }),
            let kibibytes = Int(line.filter { $0.isNumber })
        else { throw TestFailure("process \(pid) is gone") }
        return kibibytes * 1_024
    }

    /// How many descriptors the process has open.
    static func descriptorCount(of pid: pid_t) throws -> Int {
        let names = Files.names(in: "/proc/\(pid)/fd")
        try require(!names.isEmpty, "process \(pid) is gone")
        return names.count
    }

    /// The processor time it has used, in milliseconds (`utime` and `stime` of `/proc/PID/stat`).
    static func processorMilliseconds(of pid: pid_t) throws -> Int {
        // The fields after the name, which is in brackets, count from 3; 14 and 15 are the two times, in ticks.
        let fields =
            Files.text("/proc/\(pid)/stat").split(separator: ")").last?
            .split(separator: " ") ?? []
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else {
            throw TestFailure("process \(pid) is gone")
        }
        return (user + system) * 1_000 / Int(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// Looks at a process's memory every few milliseconds and remembers the most.
struct MemoryWatch {
    private let peak = Counts(1)
    private let stop = StopSign()
    private let threads: Threads

    /// Starts looking.
    init(_ pid: pid_t) throws {
        let (peak, stop) = (peak, stop)
        threads = try Threads.start(1) { _ in
            while !stop.isUp, let count = try? ProcessFigures.ownByteCount(of: pid) {
                peak.set(0, max(peak.sum, count))
                Clock.pause(microseconds: 10_000)
            }
        }
    }

    /// Stops looking. Returns the most memory of its own the process had, in bytes.
    func finish() throws -> Int {
        stop.putUp()
        try threads.join()
        return peak.sum
    }
}

/// A count of bytes for people.
func mebibytes(_ byteCount: Int) -> String {
    "\((Double(byteCount) / 1_048_576 * 10).rounded() / 10) MiB"
}
