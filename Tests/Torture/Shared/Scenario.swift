import ArgumentParser
import Glibc
import TestSupport

/// What every scenario can be told.
struct ScenarioOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Repeat the random choices of a run.", valueName: "number"))
    var seed: UInt64?

    @Option(
        help: ArgumentHelp(
            "The daemon. Without it: the one beside this program.", valueName: "path"))
    var blobd: String?

    @Option(help: ArgumentHelp("Where the scenario makes its folder.", valueName: "folder"))
    var scratch: String = "/tmp"

    @Flag(help: "A run of a few seconds, for the suite. Times are reported and not judged.")
    var short = false

    @Flag(help: "Leave the folder with the store and the daemon's log behind.")
    var keep = false
}

/// One way of treating a daemon badly.
protocol Scenario: ParsableCommand {
    var options: ScenarioOptions { get }

    /// The longest a run may take, in seconds. After that the program ends as failed.
    var secondsMax: UInt32 { get }

    /// Does it. Returns the figures for the last line, or throws a ``TestFailure``.
    func torture(_ bench: inout Workbench) throws -> [String]
}

extension Scenario {
    /// Prints the seed, does the scenario, prints the verdict and removes the folder.
    func run() throws {
        let name = Self.configuration.commandName ?? "\(Self.self)"
        let seed = options.seed ?? UInt64.random(in: 0...9_999_999)
        say("\(name): seed \(seed)")
        limitTime(to: secondsMax)
        var bench = try Workbench(seed: seed, options: options, name: name)
        let start = Clock.milliseconds()
        do {
            let figures = try torture(&bench)
            bench.remove()
            say(
                "passed \(name): \(figures.joined(separator: "; ")); \((Clock.milliseconds() - start) / 1_000) s"
            )
        } catch {
            say("failed \(name): \(error)")
            say(bench.logTail())
            let again = "--seed \(seed)\(options.short ? " --short" : "")"
            say("again: blobd-torture \(name) \(again)  (with the same counts)")
            bench.remove()
            throw ExitCode(1)
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
    private let isKept: Bool

    init(seed: UInt64, options: ScenarioOptions, name: String) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        isKept = options.keep
        blobd = try options.blobd ?? programBeside("blobd")
        try require(access(blobd, X_OK) == 0, "there is no program at \(blobd)")
        folder = try Files.makeFolder(in: options.scratch, "torture-\(name)")
    }

    /// A part of another one's folder, for one of several daemons at the same time.
    init(folder: String, blobd: String) {
        seed = 0
        generator = SeededGenerator(seed: 0)
        isKept = true
        self.blobd = blobd
        self.folder = folder
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
        if isKept {
            say("kept: \(folder)")
        } else {
            Files.remove(folder)
        }
    }
}
