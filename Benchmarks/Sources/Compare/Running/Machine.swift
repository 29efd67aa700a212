import FoundationEssentials
import Glibc

/// What the figures depend on, as the machine tells it.
enum Machine {
    /// - Parameters:
    ///   - folder: where the servers' data is.
    ///   - repository: where blobd was built.
    ///   - cores: those that this process may use.
    static func facts(folder: String, repository: String, cores: [Int]) throws -> MachineFacts {
        let memory = Shell.output("awk '/^MemTotal/ {print $2}' /proc/meminfo")
        let load = Shell.file("/proc/loadavg").split(separator: " ").first.flatMap { Double($0) }
        return MachineFacts(
            date: Date.now.formatted(.iso8601),
            processor: processor,
            cores: cores.count,
            memoryByteCount: (Int(memory) ?? 0) << 10,
            kernel: Shell.output("uname -sr"),
            system: Shell.output(". /etc/os-release && echo \"$PRETTY_NAME\""),
            fileSystem: Volume.name(of: folder),
            syncMicroseconds: try syncMicroseconds(in: folder),
            commit: Shell.output(
                "git -C '\(repository)' describe --always --dirty=+ --exclude '*'"),
            loadAverage: load ?? 0)
    }

    private static var processor: String {
        let name = Shell.output("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1")
        return name.isEmpty ? Shell.output("uname -m") : name
    }

    /// The cores this process may use.
    static func cores() throws -> [Int] {
        // As 0-3,8.
        let list = Shell.output("sed -n 's/^Cpus_allowed_list:\\s*//p' /proc/\(getpid())/status")
        return try list.split(separator: ",").flatMap { range -> [Int] in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else {
                throw CompareFailure("the kernel says \"\(list)\" of this process's cores")
            }
            return Array(first...last)
        }
    }

    /// As commands take them: `0,1`.
    static func list(_ cores: [Int]) -> String { cores.map(String.init).joined(separator: ",") }

    /// Lets the main thread run on any of `cores`.
    static func use(_ cores: [Int]) throws {
        let command = "taskset -cp \(list(cores)) \(getpid()) >/dev/null && echo done"
        guard Shell.output(command) == "done" else {
            throw CompareFailure("cannot use cores \(list(cores))")
        }
    }

    /// What `fdatasync` costs after one page was written over, the median of many.
    static func syncMicroseconds(in folder: String) throws -> Double {
        let path = "\(folder)/sync"
        let page = [UInt8](repeating: 1, count: 4_096)
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CompareFailure("cannot write in \(folder): \(String(cString: strerror(errno)))")
        }
        defer {
            close(descriptor)
            unlink(path)
        }
        // The first one writes the file's length as well; it is not counted.
        let times = (0...200).map { _ in
            pwrite(descriptor, page, page.count, 0)
            let begin = monotonicSeconds()
            fdatasync(descriptor)
            return (monotonicSeconds() - begin) * 1e6
        }
        return times.dropFirst().sorted()[(times.count - 1) / 2]
    }
}
