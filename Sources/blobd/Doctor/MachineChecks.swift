import BlobServer
import BlobStore
import CLinux
import Glibc

/// The kernel, and the limits that it sets for a process.
struct LimitChecks {
    let options: DaemonOptions
    /// Of the daemon's process, if it was found. This process may have others.
    let limits: ProcessLimits?

    /// Descriptors that are not connections.
    private static let descriptorReserve = 1_024

    func run() -> [Finding] {
        let ofProcess =
            limits.map { [descriptors($0), fileSize($0), addressSpace($0)] }
            ?? [.ok("process limits", "not checked: no process of the daemon is seen")]
        return ([kernel()] + ofProcess + [backlog(), sendBuffer(), memory()]).compactMap { $0 }
    }

    private func kernel() -> Finding {
        var name = utsname()
        uname(&name)
        let release = withUnsafeBytes(of: &name.release) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        guard numbers.count == 2, (numbers[0], numbers[1]) >= (4, 18) else {
            return .warning(
                "kernel", release, "The daemon is tested with Linux 4.18 and later.")
        }
        return .ok("kernel", release)
    }

    private func descriptors(_ limits: ProcessLimits) -> Finding {
        let wanted = options.limits.connectionCountMax + Self.descriptorReserve
        let words = "open files (ulimit -n): \(limits.text(limits.openFiles))"
        guard limits.openFiles ?? .max >= wanted else {
            return .warning(
                "descriptors", words,
                "max-connections \(options.limits.connectionCountMax) needs about \(wanted): LimitNOFILE=\(wanted) in the unit."
            )
        }
        return .ok("descriptors", words)
    }

    private func fileSize(_ limits: ProcessLimits) -> Finding? {
        guard let most = limits.fileSize else { return nil }
        return .problem(
            "file size", "files (ulimit -f): \(HumanText.bytes(Int64(most)))",
            "The store cannot grow beyond it: LimitFSIZE=infinity in the unit.")
    }

    private func addressSpace(_ limits: ProcessLimits) -> Finding? {
        guard let most = limits.addressSpace else { return nil }
        guard most < options.store.mapByteCountMax + 4 << 30 else { return nil }
        return .problem(
            "address space", "ulimit -v: \(HumanText.bytes(Int64(most)))",
            "map-size \(HumanText.bytes(Int64(options.store.mapByteCountMax))) is mapped: LimitAS=infinity in the unit, or a smaller map-size."
        )
    }

    private func backlog() -> Finding? {
        guard let most = SystemFiles.number("/proc/sys/net/core/somaxconn") else { return nil }
        let words = "net.core.somaxconn \(most)"
        return most >= 1_024
            ? .ok("backlog", words)
            : .warning(
                "backlog", words,
                "A crowd that connects at once is refused: sysctl net.core.somaxconn=4096")
    }

    private func sendBuffer() -> Finding? {
        guard let most = SystemFiles.number("/proc/sys/net/core/wmem_max") else { return nil }
        let words = "net.core.wmem_max \(most)"
        return most >= 212_992
            ? .ok("send buffers", words)
            : .warning(
                "send buffers", words,
                "Large payloads take more system calls: sysctl net.core.wmem_max=1048576")
    }

    private func memory() -> Finding? {
        guard let text = SystemFiles.text("/proc/meminfo") else { return nil }
        func bytes(_ name: String) -> Int? {
            text.split(separator: "\n").first { $0.hasPrefix(name + ":") }?
                .split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
        }
        guard let available = bytes("MemAvailable") else { return nil }
        let buffers =
            options.limits.bodyMemoryByteCountMax + options.limits.answerMemoryByteCountMax
        let words = "\(HumanText.bytes(Int64(available))) available"
        if available < 2 * buffers {
            return .warning(
                "memory", words,
                "body-memory and answer-memory may take \(HumanText.bytes(Int64(buffers))): make room, or lower them."
            )
        }
        return .ok("memory", words)
    }
}

/// Limits of a process; nil: none.
struct ProcessLimits {
    var openFiles: Int?
    var fileSize: Int?
    var addressSpace: Int?

    func text(_ limit: Int?) -> String { limit.map { "\($0)" } ?? "unlimited" }

    /// From the text of `/proc/PID/limits`. The daemon raises the soft limit of open files to the hard one.
    init(_ text: String) {
        func limit(_ name: String, isHard: Bool) -> Int? {
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) })
            else { return nil }
            let words = line.dropFirst(name.count).split(separator: " ")
            return words.count > 1 ? Int(words[isHard ? 1 : 0]) : nil
        }
        openFiles = limit("Max open files", isHard: true)
        fileSize = limit("Max file size", isHard: false)
        addressSpace = limit("Max address space", isHard: false)
    }

    /// Of a process; nil if they cannot be read.
    static func of(_ number: Int) -> ProcessLimits? {
        SystemFiles.text("/proc/\(number)/limits").map { ProcessLimits($0) }
    }
}

/// The clock, by which payloads expire.
enum ClockChecks {
    static func run() -> [Finding] {
        let year = 1970 + Int(time(nil)) / 31_556_952
        if year < 2_025 {
            return [
                .problem(
                    "clock", "it is the year \(year)",
                    "Everything expires late, and then at once: set the clock before the daemon starts."
                )
            ]
        }
        let isSynchronised = clinux_clock_is_synchronised()
        guard isSynchronised >= 0 else { return [] }
        if isSynchronised == 0 {
            return [
                .warning(
                    "clock", "it is not synchronised",
                    "Payloads expire by it: run chrony or systemd-timesyncd (timedatectl set-ntp true)."
                )
            ]
        }
        return [.ok("clock", "synchronised")]
    }
}
