import CCores
import Comparison
import FoundationEssentials
import Glibc

/// What the figures depend on, as the machine tells it.
enum Machine {
    /// - Parameters:
    ///   - folder: where the servers' data is.
    ///   - repository: where blobd was built.
    static func facts(folder: String, repository: String) throws -> MachineFacts {
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
    static var cores: [Int] {
        (0..<ccores_count_max).filter { ccores_may_use(Int32($0)) != 0 }
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
        return Spread(Array(times.dropFirst()))?.median ?? 0
    }
}
