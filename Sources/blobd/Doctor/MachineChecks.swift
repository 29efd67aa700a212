import BlobServer
import BlobStore
import CLinux
import Glibc

/// The kernel, its limits for a process, and the clock.
struct MachineChecks {
    let options: DaemonOptions
    /// The limits of the daemon's process, if it was found. Those of this process may differ.
    let limits: ProcessLimits?

    /// Descriptors that are not connections.
    private static let descriptorReserve = 1_024

    func run() -> [Finding] {
        let ofProcess: [Finding?] =
            limits.map { [descriptors($0), fileSize($0), addressSpace($0)] }
            ?? [Finding("process limits", "not checked: the daemon's process was not found")]
        let others = [
            sysctl(
                "backlog", "net.core.somaxconn", atLeast: 1_024,
                "Bursts of connections are refused: sysctl net.core.somaxconn=4096"),
            sysctl(
                "send buffers", "net.core.wmem_max", atLeast: 212_992,
                "Large payloads take more system calls: sysctl net.core.wmem_max=1048576"),
            memory(), clock(),
        ]
        return ([kernel()] + ofProcess + others).compactMap { $0 }
    }

    private func kernel() -> Finding {
        var name = utsname()
        uname(&name)
        let release = withUnsafeBytes(of: &name.release) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        let isTested = numbers.count == 2 && (numbers[0], numbers[1]) >= (4, 18)
        return Finding(
            "kernel", release, !isTested ? .warning : .ok,
            "The daemon is tested with Linux 4.18 and later.")
    }

    private func descriptors(_ limits: ProcessLimits) -> Finding {
        let connections = options.limits.connectionCountMax
        let wanted = connections + Self.descriptorReserve
        let limit = limits.openFiles
        return Finding(
            "descriptors", "open files (ulimit -n): \(limit.map { "\($0)" } ?? "unlimited")",
            limit ?? .max < wanted ? .warning : .ok,
            "max-connections \(connections) needs about \(wanted): LimitNOFILE=\(wanted) in the unit."
        )
    }

    private func fileSize(_ limits: ProcessLimits) -> Finding? {
        limits.fileSize.map {
            Finding(
                "file size", "files (ulimit -f): \(HumanText.bytes($0))", .problem,
                "The store cannot grow beyond it: LimitFSIZE=infinity in the unit.")
        }
    }

    private func addressSpace(_ limits: ProcessLimits) -> Finding? {
        let mapped = options.store.mapByteCountMax
        guard let most = limits.addressSpace, most < mapped + 4 << 30 else { return nil }
        return Finding(
            "address space", "ulimit -v: \(HumanText.bytes(most))", .problem,
            "map-size \(HumanText.bytes(mapped)) is mapped: LimitAS=infinity in the unit, or a smaller map-size."
        )
    }

    private func sysctl(
        _ check: String, _ name: String, atLeast least: Int, _ advice: String
    ) -> Finding? {
        SystemFiles.number("/proc/sys/" + name.replacing(".", with: "/")).map {
            Finding(check, "\(name) \($0)", $0 < least ? .warning : .ok, advice)
        }
    }

    private func memory() -> Finding? {
        guard let text = SystemFiles.text("/proc/meminfo"),
            let words = SystemFiles.words(of: text, after: "MemAvailable:"),
            let kibibytes = words.first.flatMap({ Int($0) })
        else { return nil }
        let available = kibibytes << 10
        let buffers =
            options.limits.bodyMemoryByteCountMax + options.limits.answerMemoryByteCountMax
        return Finding(
            "memory", "\(HumanText.bytes(available)) available",
            available < 2 * buffers ? .warning : .ok,
            "body-memory and answer-memory may take \(HumanText.bytes(buffers)): add memory, or lower them."
        )
    }

    /// The clock, which decides when payloads expire.
    private func clock() -> Finding? {
        let year = 1970 + Int(time(nil)) / 31_556_952
        guard year >= 2_025 else {
            return Finding(
                "clock", "it is the year \(year)", .problem,
                "Everything expires late, and then at once: set the clock before the daemon starts."
            )
        }
        let isSynchronised = clinux_clock_is_synchronised()
        guard isSynchronised >= 0 else { return nil }
        return Finding(
            "clock", isSynchronised == 0 ? "it is not synchronised" : "synchronised",
            isSynchronised == 0 ? .warning : .ok,
            "Payloads expire by it: run chrony or systemd-timesyncd (timedatectl set-ntp true).")
    }
}

/// Limits of a process; nil: unlimited.
struct ProcessLimits {
    var openFiles: Int?
    var fileSize: Int?
    var addressSpace: Int?

    /// nil if they cannot be read. The daemon raises the soft limit of open files to the hard one.
    static func of(_ number: Int) -> ProcessLimits? {
        guard let text = SystemFiles.text("/proc/\(number)/limits") else { return nil }
        func limit(_ name: String, isHard: Bool = false) -> Int? {
            let words = SystemFiles.words(of: text, after: name) ?? []
            return words.count > 1 ? Int(words[isHard ? 1 : 0]) : nil
        }
        return ProcessLimits(
            openFiles: limit("Max open files", isHard: true), fileSize: limit("Max file size"),
            addressSpace: limit("Max address space"))
    }
}
