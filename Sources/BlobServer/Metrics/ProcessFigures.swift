import BlobStore
import Glibc
import Synchronization

/// The kernel's numbers for this process, like those of other Prometheus clients.
struct ProcessFigures {
    var processorSeconds = 0.0
    var residentByteCount = 0
    var openDescriptorCount = 0
    var descriptorMax = 0

    /// Reads `getrusage`, `/proc/self/statm`, `/proc/self/fd` and `getrlimit`. Values that cannot be read are 0.
    static var now: ProcessFigures {
        var figures = ProcessFigures()
        var usage = rusage()
        if getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
            figures.processorSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
        }
        if let pages = words("/proc/self/statm").dropFirst().first {
            figures.residentByteCount = (Int(pages) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
        }
        if let folder = opendir("/proc/self/fd") {
            // Without `.`, `..` and the descriptor of the folder.
            var count = -3
            while readdir(folder) != nil { count += 1 }
            closedir(folder)
            figures.openDescriptorCount = max(0, count)
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            figures.descriptorMax = Int(clamping: limit.rlim_cur)
        }
        return figures
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }

    private static func words(_ path: String) -> [Substring] {
        let text = (try? SmallFile.read(path, byteCountMax: 512)) ?? []
        return String(decoding: text, as: UTF8.self).split(separator: " ")
    }
}

/// For how long the oldest open snapshot of any process has kept freed pages from being reused. Measured by looking at
/// times, because LMDB does not record when a snapshot was opened.
final class OldestSnapshot: Sendable {
    private struct State {
        var commit: UInt64?
        var since = Instant.now
    }

    private let state = Mutex(State())

    /// Looks. A snapshot that was not the oldest at the last look counts from now on.
    func look(in store: BlobStore) {
        let commit = store.oldestSnapshot()
        let now = Instant.now
        state.withLock { state in
            guard state.commit != commit else { return }
            state.commit = commit
            state.since = now
        }
    }

    /// In milliseconds; 0 if no snapshot is open. Too low by at most the pause between looks.
    func ageMilliseconds(in store: BlobStore) -> Int {
        look(in: store)
        let now = Instant.now
        return state.withLock { state in
            state.commit == nil ? 0 : max(0, now.milliseconds(since: state.since))
        }
    }
}
