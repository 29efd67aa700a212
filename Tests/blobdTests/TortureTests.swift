import Glibc
import Testing

/// A short turn of every scenario of `Scripts/torture`, against the programs that were built with
/// the tests. A failure shows the scenario's words, with the seed that repeats it.
@Suite(.serialized)
struct TortureTests {
    @Test func killedUnderPublishers() throws {
        try torture("kill")
    }

    @Test func garbageOnBothDialects() throws {
        try torture(
            hasSanitizer ? "garbage --messages 4000 --margin-mebibytes 4096" : "garbage")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func idleConnections() throws {
        try torture("idle")
    }

    @Test func outOfDescriptors() throws {
        try torture("descriptors")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func manyLargeUploads() throws {
        try torture("upload")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func slowReaderUnderChurn() throws {
        try torture("slow")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func manyWhoDoNotRead() throws {
        try torture("unread")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func manyWaiters() throws {
        try torture("waiters")
    }

    /// Two connections that published under the same condition at once both won in half of all races.
    @Test func oneWinnerOfEachRace() throws {
        try torture("races")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func halfOpenBodies() throws {
        try torture("bodies")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer's memory is not the daemon's"))
    func drainingSockets() throws {
        try torture("draining")
    }

    @Test func bytesUnderChurn() throws {
        try torture("churn")
    }

    @Test func bytesUnderChurnAndKills() throws {
        try torture("churn --kills")
    }

    @Test func feedsOfManyDevices() throws {
        try torture("feed")
    }

    @Test(.enabled(if: canDo("unshare --mount true"), "a file system is mounted, which needs root"))
    func fullDisk() throws {
        try torture("full")
    }

    @Test(
        .enabled(if: canDo("strace -o /dev/null true"), "strace is missing or not allowed"),
        .disabled(if: hasSanitizer, "the sanitizer's run time makes system calls of its own"))
    func syncBeforeAnswer() throws {
        try torture("syncs")
    }

    @Test(.disabled(if: hasSanitizer, "the recorder is not loaded beside the sanitizer"))
    func powerCuts() throws {
        try torture("cuts")
    }

    @Test(.disabled(if: hasSanitizer, "the sanitizer ends what the daemon survives"))
    func flippedBits() throws {
        try torture("flips")
    }

    /// Where the disk is told nothing, or LMDB's meta page is not written through, images must be
    /// wrong.
    @Test(
        .disabled(if: hasSanitizer, "the recorder is not loaded beside the sanitizer"),
        arguments: ["--ignore-syncs", "--ignore-synced-writes"])
    func aMissingSyncIsSeen(flag: String) throws {
        try torture("cuts \(flag)")
    }

    /// A start that may take no time at all must fail the scenario: otherwise the others prove
    /// nothing.
    @Test func aFailureIsSaid() throws {
        let program = try #require(Self.programFolder()) + "/blobd-torture"
        let (status, words) = Self.shell(
            "'\(program)' kill --short --start-milliseconds-max=-1 2>&1")
        #expect(status != 0)
        #expect(words.contains("failed kill: a start took"), "\(words)")
    }

    /// One bit that changes between the daemon and the comparison must be seen, and it must be said
    /// whose bytes they were.
    @Test func aWrongByteIsSeen() throws {
        let program = try #require(Self.programFolder()) + "/blobd-torture"
        let (status, words) = Self.shell("'\(program)' churn --short --spoil 2>&1")
        #expect(status != 0)
        #expect(words.contains("failed churn: a reader of the manner"), "\(words)")
        #expect(words.contains("wrong from byte") || words.contains("damaged"), "\(words)")
    }

    /// Runs a scenario and expects it to pass. It ends itself after a few minutes at most.
    private func torture(_ scenario: String) throws {
        let program = try #require(Self.programFolder()) + "/blobd-torture"
        try #require(access(program, X_OK) == 0, "\(program) is not built")
        let (status, words) = Self.shell("'\(program)' \(scenario) --short 2>&1")
        #expect(status == 0, "\(words)")
        // A scenario that was never run would also leave nothing to complain about.
        #expect(words.contains("passed \(scenario.prefix { $0 != " " })"), "\(words)")
    }

    /// Where the tests' own program lies; the others are beside it.
    private static func programFolder() -> String? {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }

    private static func canDo(_ command: String) -> Bool {
        shell("\(command) 2>&1").status == 0
    }

    /// Runs a command to its end. Returns how it ended, as `pclose` has it, and what it said.
    private static func shell(_ command: String) -> (status: Int32, words: String) {
        guard let pipe = popen(command, "r") else { return (-1, "popen: error \(errno)") }
        var words: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = fread(&buffer, 1, buffer.count, pipe)
            if count == 0 { break }
            words += buffer[..<count]
        }
        return (pclose(pipe), String(decoding: words, as: UTF8.self))
    }
}
