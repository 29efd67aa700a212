import Dispatch
import Glibc
import TestSupport
import Testing

/// A short run of every scenario of `Scripts/torture`, against the programs that were built with
/// the tests. A failure shows the scenario's words, with the seed that repeats it.
///
/// The runs wait more than they compute. Two go on at a time, on threads of their own, beside the
/// other tests. What they measure is their own daemon's.
@Suite struct TortureTests {
    private static let places = DispatchSemaphore(value: 2)

    @Test func killedUnderPublishers() async throws {
        try await torture("kill")
    }

    @Test func garbageOnBothDialects() async throws {
        try await torture(
            hasSanitizer ? "garbage --messages 4000 --margin-mebibytes 4096" : "garbage")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func idleConnections() async throws {
        try await torture("idle")
    }

    @Test func outOfDescriptors() async throws {
        try await torture("descriptors")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func manyLargeUploads() async throws {
        try await torture("upload")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func slowReaderUnderChurn() async throws {
        try await torture("slow")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func manyWhoDoNotRead() async throws {
        try await torture("unread")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func manyWaiters() async throws {
        try await torture("waiters")
    }

    /// Two connections that published under the same condition at once both won in half of all races.
    @Test func oneWinnerOfEachRace() async throws {
        try await torture("races")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func halfOpenBodies() async throws {
        try await torture("bodies")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func drainingSockets() async throws {
        try await torture("draining")
    }

    @Test func backupsBesidePublishers() async throws {
        try await torture("backup")
    }

    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func failover() async throws {
        try await torture("failover")
    }

    /// Whatever becomes of a daemon, its folder, its disk or its bucket: acknowledged changes are there, all hosts
    /// of the shard agree, and none needs an operator.
    @Test(
        .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"),
        arguments: [
            "killed-leader", "failed-get --rounds 2",
            "copied-folder --kind rolled-back", "copied-folder --kind together",
            "copied-folder --kind beside", "absurd-bucket", "damage", "chaos",
        ])
    func shardsThatAreTreatedBadly(scenario: String) async throws {
        try await torture(scenario)
    }

    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func leadersThatSleep() async throws {
        try await torture("zombies")
    }

    /// Without the fence a change is lost: otherwise the test above proves nothing.
    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func aMissingFenceIsSeen() async throws {
        try await torture("zombies --without-fence")
    }

    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func aFollowersLag() async throws {
        try await torture("follower")
    }

    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func anIdleShard() async throws {
        try await torture("idle-shard")
    }

    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func aStoreMadeAnew() async throws {
        try await torture("seed")
    }

    @Test(
        .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"),
        arguments: ["churn --follower", "churn --follower --kills"])
    func bytesOnAFollower(scenario: String) async throws {
        try await torture(scenario)
    }

    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func bucketAway() async throws {
        try await torture("bucket-away")
    }

    @Test(.disabled(if: hasSanitizer, "the recorder is not loaded beside the sanitizer"))
    func restoresThatAreCut() async throws {
        try await torture("restore-cuts")
    }

    /// Where the disk is told nothing, images must be wrong.
    @Test(.disabled(if: hasSanitizer, "the recorder is not loaded beside the sanitizer"))
    func aMissingSyncOfARestoreIsSeen() async throws {
        try await torture("restore-cuts --ignore-syncs")
    }

    @Test func theDiskComesBack() async throws {
        try await torture("disk")
    }

    @Test func timesOfWrongSignatures() async throws {
        try await torture("links-time")
    }

    @Test func bytesUnderChurn() async throws {
        try await torture("churn")
    }

    @Test func bytesUnderChurnAndKills() async throws {
        try await torture("churn --kills")
    }

    @Test(.enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func bytesUnderChurnAndEviction() async throws {
        try await torture("churn --evicting")
    }

    @Test func feedsOfManyDevices() async throws {
        try await torture("feed")
    }

    @Test(.enabled(if: canDo("unshare --mount true"), "a file system is mounted, which needs root"))
    func fullDisk() async throws {
        try await torture("full")
    }

    @Test(
        .enabled(if: canDo("strace -o /dev/null true"), "strace is missing or not allowed"),
        .disabled(if: hasSanitizer, "the sanitizer's run time makes system calls of its own"))
    func syncBeforeAnswer() async throws {
        try await torture("syncs")
    }

    @Test(.disabled(if: hasSanitizer, "the recorder is not loaded beside the sanitizer"))
    func powerCuts() async throws {
        try await torture("cuts")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer ends what the daemon survives"))
    func flippedBits() async throws {
        try await torture("flips")
    }

    /// Where the disk is told nothing, or LMDB's meta page is not written through, images must be
    /// wrong.
    @Test(
        .disabled(if: hasSanitizer, "the recorder is not loaded beside the sanitizer"),
        arguments: ["--ignore-syncs", "--ignore-synced-writes"])
    func aMissingSyncIsSeen(flag: String) async throws {
        try await torture("cuts \(flag)")
    }

    /// A start that may take no time at all must fail the scenario: otherwise the others prove
    /// nothing.
    @Test func aFailureIsSaid() async throws {
        let program = "\(Files.products)/blobd-torture"
        let (status, words) = await Self.start(
            "'\(program)' kill --short --start-milliseconds-max=-1 2>&1")
        #expect(status != 0)
        #expect(words.contains("failed kill: a start took"), "\(words)")
    }

    /// One bit that changes between the daemon and the comparison must be seen, and it must be said
    /// whose bytes they were.
    @Test func aWrongByteIsSeen() async throws {
        let program = "\(Files.products)/blobd-torture"
        let (status, words) = await Self.start("'\(program)' churn --short --spoil 2>&1")
        #expect(status != 0)
        #expect(words.contains("failed churn: a reader of the manner"), "\(words)")
        #expect(words.contains("wrong from byte") || words.contains("damaged"), "\(words)")
    }

    /// Runs a scenario and expects it to pass. It ends itself after a few minutes at most.
    private func torture(_ scenario: String) async throws {
        let program = "\(Files.products)/blobd-torture"
        try #require(access(program, X_OK) == 0, "\(program) is not built")
        let (status, words) = await Self.start("'\(program)' \(scenario) --short 2>&1")
        #expect(status == 0, "\(words)")
        // A scenario that was never run would also leave nothing to complain about.
        #expect(words.contains("passed \(scenario.prefix { $0 != " " })"), "\(words)")
    }

    /// Runs a command as soon as fewer than two others run.
    private static func start(_ command: String) async -> (status: Int32, words: String) {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "torture").async {
                places.wait()
                defer { places.signal() }
                continuation.resume(returning: shell(command))
            }
        }
    }

    private static func canDo(_ command: String) -> Bool {
        shell("\(command) 2>&1").status == 0
    }

    /// Runs a command to its end. Returns its exit code, and what it said.
    private static func shell(_ command: String) -> (status: Int32, words: String) {
        guard let result = try? run(["/bin/sh", "-c", command]) else { return (-1, "") }
        return (result.end.code, String(decoding: result.output, as: UTF8.self))
    }
}
