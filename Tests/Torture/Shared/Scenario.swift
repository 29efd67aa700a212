import Glibc
import TestSupport

/// What people are told of a scenario.
struct About: Sendable {
    let name: String
    let line: String
    let details: String

    init(_ name: String, _ line: String, _ details: String) {
        (self.name, self.line, self.details) = (name, line, details)
    }
}

/// One way of treating a daemon badly. What it can be told are its properties that are a ``Setting``.
protocol Scenario {
    static var about: About { get }

    init()

    /// Does it. Returns the figures for the last line, or throws a ``TestFailure``.
    func torture(_ bench: inout Workbench) throws -> [String]
}

extension Scenario {
    /// Prints the seed, does the scenario, prints the verdict and removes the folder.
    func run(_ common: CommonSettings) throws -> Bool {
        let name = Self.about.name
        let seed = UInt64(common.seed) ?? UInt64.random(in: 0...9_999_999)
        say("\(name): seed \(seed)")
        limitTime(to: common.short ? 1_800 : 4 * 3_600)
        var bench = try Workbench(seed, common, name)
        let start = Clock.milliseconds()
        defer { bench.remove() }
        do {
            let figures = try torture(&bench)
            let seconds = (Clock.milliseconds() - start) / 1_000
            say("passed \(name): \(figures.joined(separator: "; ")); \(seconds) s")
            return true
        } catch {
            say("failed \(name): \(error)")
            say(bench.logTail())
            let again = "--seed \(seed)\(common.short ? " --short" : "")"
            say("again: blobd-torture \(name) \(again)  (with the same counts)")
            return false
        }
    }
}

/// Prints a line at once, also when standard output is a file.
func say(_ line: String) {
    print(line)
    // Null stands for every open stream.
    fflush(nil)
}

/// Ends the program as failed after so many seconds. The daemon ends with it (`DaemonUnderTest`).
private func limitTime(to seconds: UInt32) {
    signal(SIGALRM) { _ in
        // Only what a signal handler may call.
        let words: StaticString = "failed: the scenario did not end within its time\n"
        _ = write(1, words.utf8Start, words.utf8CodeUnitCount)
        _exit(1)
    }
    alarm(seconds)
}

/// What every scenario can be told.
struct CommonSettings {
    @Setting("", "Repeat the random choices of a run.") var seed: String
    @Setting(false, "A run of a few seconds, for the suite. Times are not judged.") var short: Bool
    @Setting(false, "Leave the folder with the store and the daemon's log behind.") var keep: Bool
    @Setting("moto", "The bucket's server, of those that have one: moto or rgw.")
    var server: String
    @Setting("", "The daemon. Without it: the one in this program's folder.") var blobd: String
    @Setting("/tmp", "Where the scenario makes its folder.") var scratch: String
}

/// The folder of one scenario and where its random choices come from.
struct Workbench {
    /// The seed all choices come from.
    let seed: UInt64
    /// The folder, which is the scenario's own.
    let folder: String
    /// The path of the daemon's program.
    let blobd: String
    /// The scenario's own choices. Threads make generators of their own from ``seed``.
    var generator: SeededGenerator
    /// Whether it is a short run, in which times are not judged.
    let isShort: Bool
    let isKept: Bool
    /// The kind of the bucket's server.
    let server: String

    init(_ seed: UInt64, _ common: CommonSettings, _ name: String) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        (isShort, isKept, server) = (common.short, common.keep, common.server)
        blobd = try common.blobd.isEmpty ? programBeside("blobd") : common.blobd
        try require(access(blobd, X_OK) == 0, "there is no program at \(blobd)")
        folder = try Files.makeFolder(in: common.scratch, "torture-\(name)")
    }

    /// A part of another one's folder, for one of several daemons at the same time. It is made if need be.
    init(_ name: String, of whole: borrowing Workbench, seed: UInt64 = 0) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        (isShort, isKept, server) = (whole.isShort, whole.isKept, whole.server)
        blobd = whole.blobd
        folder = "\(whole.folder)/\(name)"
        mkdir(folder, 0o755)
    }

    /// Where the daemon keeps its store.
    var data: String { folder + "/data" }
    /// Where it listens.
    var socket: String { folder + "/blobd.sock" }
    /// Where its words go.
    var log: String { folder + "/blobd.log" }

    /// The last words of the daemon.
    func logTail() -> String {
        let lines = Files.text(log).split(separator: "\n").suffix(12)
        return lines.isEmpty ? "" : "the daemon's last words:\n  " + lines.joined(separator: "\n  ")
    }

    /// Removes the folder, unless it is to be kept.
    func remove() {
        if isKept { say("kept: \(folder)") } else { Files.remove(folder) }
    }
}
