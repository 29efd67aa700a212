import Dispatch
import Glibc
import TestSupport
import Testing

/// Short runs of scenarios of `Scripts/torture`, against the programs that were built with the tests. A failure shows
/// the scenario's words, with the seed that repeats it.
///
/// A shard's life with its bucket is the simulator's (`SimulatorTests`); here are the scenarios that need processes, a
/// kernel and a disk, and one of each kind of crowd. All others are campaigns. The runs wait more than they compute, so
/// two continue at a time, on threads of their own, alongside the other tests. What they measure is their own daemon's.
@Suite struct TortureTests {
    private static let places = DispatchSemaphore(value: 2)

    @Test(
        "It passes",
        arguments: [
            "kill",
            hasSanitizer ? "garbage --messages 4000 --margin-mebibytes 4096" : "garbage",
            // Two connections that published under the same condition at once both won in half of all races.
            "races",
        ])
    func passes(scenario: String) async throws {
        let (status, words) = try await Self.torture(scenario)
        #expect(status == 0, "\(words)")
        // A scenario that was never run would also leave nothing to complain about.
        #expect(words.contains("passed \(scenario.prefix { $0 != " " })"), "\(words)")
    }

    // With a sanitizer its memory is not the daemon's, and the recorder is not loaded.
    @Test(
        "It passes in a build without a sanitizer", .disabled(if: hasSanitizer, "a sanitizer runs"),
        arguments: ["upload", "unread", "waiters", "flips", "cuts", "restore-cuts"])
    func passesPlainly(scenario: String) async throws { try await passes(scenario: scenario) }

    @Test(
        "It passes on a small disk",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func full() async throws { try await passes(scenario: "full") }

    @Test(
        "It passes with a bucket", .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"),
        arguments: [
            "churn --follower --evicting --kills",
            // Whatever becomes of a daemon, its folder, its disk or its bucket, none of a shard needs an operator.
            "chaos",
        ])
    func passesWithBucket(scenario: String) async throws { try await passes(scenario: scenario) }

    /// Controls: with a mechanism taken away the scenario must find what it would miss. Otherwise the runs above
    /// prove nothing. They pass when it does.
    @Test(
        "What is missing is found", .disabled(if: hasSanitizer, "a sanitizer runs"),
        arguments: [
            // Where the disk is told nothing, or LMDB's meta page is not written through, images are wrong.
            "cuts --ignore-syncs", "cuts --ignore-synced-writes", "restore-cuts --ignore-syncs",
        ])
    func finds(scenario: String) async throws { try await passes(scenario: scenario) }

    @Test(
        "Without the fence a change is lost",
        .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func fence() async throws { try await passes(scenario: "zombies --without-fence") }

    /// A start that may take no time at all, and one bit that changes between the daemon and the comparison, must fail
    /// their scenarios, and it must be said whose bytes they were.
    @Test(
        "A failure is said",
        arguments: [
            ("kill --start-milliseconds-max=-1", ["failed kill: a start took"]),
            ("churn --spoil", ["failed churn: a reader of the manner", "wrong from byte|damaged"]),
        ])
    func fails(scenario: String, expected: [String]) async throws {
        let (status, words) = try await Self.torture(scenario)
        #expect(status != 0)
        for text in expected {
            #expect(text.split(separator: "|").contains { words.contains($0) }, "\(words)")
        }
    }

    @Test("Every scenario that Scripts/torture runs exists")
    func listed() throws {
        let list = #"eval "$(sed -n '/^scenarios=(kill/,/)$/p' "$0")"; printf '%s\n' "#
        let (_, output, _) = try run(
            ["bash", "-c", list + #""${scenarios[@]}""#, "\(Files.package)/Scripts/torture"])
        let names = Set(
            String(decoding: output, as: UTF8.self).split(separator: "\n")
                .compactMap { $0.split(separator: " ").first })
        #expect(names.count > 20)
        let help = Self.shell("'\(Files.products)/blobd-torture' help").words
        for name in names { #expect(help.contains("\n  \(name) "), "\(name)") }
    }

    /// Runs a scenario as soon as fewer than two others run. It ends itself after a few minutes at most.
    private static func torture(_ scenario: String) async throws -> (
        status: Int32, words: String
    ) {
        let program = "\(Files.products)/blobd-torture"
        try #require(access(program, X_OK) == 0, "\(program) is not built")
        return await withCheckedContinuation { continuation in
            DispatchQueue(label: "torture").async {
                places.wait()
                defer { places.signal() }
                continuation.resume(returning: shell("'\(program)' \(scenario) --short 2>&1"))
            }
        }
    }

    /// Runs a command to its end. Returns its exit code, and what it said.
    private static func shell(_ command: String) -> (status: Int32, words: String) {
        guard let result = try? run(["/bin/sh", "-c", command]) else { return (-1, "") }
        return (result.end.code, String(decoding: result.output, as: UTF8.self))
    }
}
