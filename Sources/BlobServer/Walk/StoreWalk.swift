package import BlobStore
import CLinux
import Glibc

/// Verifies a store in a child process, which continues after damaged pages, while a daemon may change the store.
/// Damage can only kill the child, whose position is known here.
package struct StoreWalk {
    package static let commandName = "walk-store"

    package enum Ending {
        case done
        /// Killed by a signal that reading a damaged page causes; the report contains its position.
        case died(signal: Int32)
        /// Killed by another signal, at a position: by the system when it is out of memory, or by somebody.
        case killed(signal: String, position: String)
        /// The store cannot be opened, because it is damaged.
        case damaged(String)
        case failed(String)
    }

    package var report: VerifyReport
    package var ending: Ending

    /// Calls `progress` with the stored bytes read so far, and with their total.
    package static func run(
        _ directory: String, progress: (UInt64, UInt64) -> Void
    ) throws(SystemError) -> StoreWalk {
        let shared = try OwnedDescriptor(
            taking: clinux_shared_memory(WalkPosition.byteCount), from: "memfd_create")
        let memory = mmap(nil, WalkPosition.byteCount, PROT_READ, MAP_SHARED, shared.number, 0)
        guard let memory, memory != MAP_FAILED else { throw SystemError("mmap") }
        defer { munmap(memory, WalkPosition.byteCount) }
        var ends: (Int32, Int32) = (-1, -1)
        guard clinux_pipe(&ends.0, &ends.1) == 0 else { throw SystemError("pipe2") }
        let input = try OwnedDescriptor(taking: ends.0, from: "pipe2")
        // Closed here at once, so that the input ends when the child exits.
        let pid = try start(
            directory, try OwnedDescriptor(taking: ends.1, from: "pipe2"), shared.number)
        var lines = WalkLines()
        lines.read(from: input.number, progress: progress)
        let status = wait(for: pid)
        var walk = StoreWalk(report: lines.report, ending: .done)
        // The macros of <sys/wait.h> are not imported: the low seven bits are the signal.
        let signal = status & 0x7F
        let position = WalkPosition(memory).text
        if [SIGBUS, SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGFPE].contains(signal) {
            walk.ending = .died(signal: signal)
            walk.report.add(
                "\(signalName(signal)) killed the check at \(position), or right after it")
        } else if signal != 0 {
            walk.ending = .killed(signal: signalName(signal), position: position)
        } else if let damage = lines.damage {
            walk.ending = .damaged(damage)
        } else if let failure = lines.failure {
            walk.ending = .failed(failure)
        } else if !lines.isEnded {
            walk.ending = .failed("the check ended with exit code \(status >> 8 & 0xFF)")
        }
        return walk
    }

    private static func start(
        _ directory: String, _ output: consuming OwnedDescriptor, _ memory: Int32
    ) throws(SystemError) -> pid_t {
        let words = ["blobd", Self.commandName, "--data", directory]
        var arguments = words.map { strdup($0) }
        arguments.append(nil)
        defer { for text in arguments { free(text) } }
        let pid = clinux_start_self(&arguments, output.number, memory)
        guard pid > 0 else { throw SystemError("posix_spawn") }
        return pid
    }

    private static func wait(for pid: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status
    }
}

/// `SIGBUS`, or `signal 34`.
func signalName(_ number: Int32) -> String {
    let names = [
        SIGBUS: "SIGBUS", SIGSEGV: "SIGSEGV", SIGABRT: "SIGABRT", SIGILL: "SIGILL",
        SIGTRAP: "SIGTRAP", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGTERM: "SIGTERM",
        SIGINT: "SIGINT", SIGHUP: "SIGHUP",
    ]
    return names[number] ?? "signal \(number)"
}

/// The output of a walk's process, one message per line, and its parser.
///
///     problem TEXT            page TEXT          a problem of the pages
///     bytes DONE TOTAL        failed TEXT        damaged TEXT
///     end NOTIFICATIONS PARTS BLOBS ORPHANS BYTES PROBLEMS PAGEPROBLEMS CHANGESINLOG EVICTED
package struct WalkLines {
    private(set) var report = VerifyReport()
    private(set) var isEnded = false
    private(set) var failure: String?
    /// Why the store cannot be opened.
    private(set) var damage: String?

    mutating func read(from descriptor: Int32, progress: (UInt64, UInt64) -> Void) {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = buffer.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                take(String(decoding: rest[..<end], as: UTF8.self), progress)
                rest.removeSubrange(...end)
            }
        }
    }

    private mutating func take(_ line: String, _ progress: (UInt64, UInt64) -> Void) {
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return }
        let numbers = words[1].split(separator: " ").compactMap { UInt64($0) }
        switch words[0] {
        case "problem": report.add(String(words[1]))
        case "page":
            var pages = VerifyReport()
            pages.add(String(words[1]))
            report.add(pages: pages)
        case "bytes" where numbers.count == 2: progress(numbers[0], numbers[1])
        case "failed": failure = String(words[1])
        case "damaged": damage = String(words[1])
        case "end" where numbers.count == 9:
            isEnded = true
            report.notifications = Int(clamping: numbers[0])
            report.parts = Int(clamping: numbers[1])
            report.blobs = Int(clamping: numbers[2])
            report.orphans = Int(clamping: numbers[3])
            report.bytesStored = Int(clamping: numbers[4])
            // Only some of them are described.
            report.problemCount = max(report.problemCount, Int(clamping: numbers[5]))
            report.pageProblemCount = max(report.pageProblemCount, Int(clamping: numbers[6]))
            report.changesInLog = Int(clamping: numbers[7])
            report.evictedBlobs = Int(clamping: numbers[8])
        default: break
        }
    }

    package static func problem(_ text: String, ofPages: Bool = false) -> String {
        "\(ofPages ? "page" : "problem") \(oneLine(text))\n"
    }

    package static func bytes(_ done: Int, of total: Int) -> String { "bytes \(done) \(total)\n" }

    package static func failed(_ text: String) -> String { "failed \(oneLine(text))\n" }

    package static func damaged(_ text: String) -> String { "damaged \(oneLine(text))\n" }

    package static func end(_ report: VerifyReport) -> String {
        let numbers = [
            report.notifications, report.parts, report.blobs, report.orphans, report.bytesStored,
            report.problemCount, report.pageProblemCount, report.changesInLog,
            report.evictedBlobs,
        ]
        return "end \(numbers.map { "\($0)" }.joined(separator: " "))\n"
    }

    /// Texts from a damaged store may contain anything, including characters that a terminal should not get.
    private static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 ? "?" : $0 }))
    }
}
