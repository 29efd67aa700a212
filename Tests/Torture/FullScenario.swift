import BlobClient
import BlobProtocol
import Glibc
import TestSupport

/// Fills a small file system, and looks whether everything but publishing goes on.
struct FullScenario: Scenario {
    static let about = About(
        "full",
        "A full disk: 507, right reads, deletes that make room, starts that end with words.",
        """
        Mounts a small tmpfs, which needs root. Fills it by publishing until 507; reads everything; deletes half,
        which the file must give back to the disk; publishes at least three quarters of that again. Then fills the
        rest with another file and starts the daemon on the store and on an empty folder.
        """)

    @Setting(48, "The size of the file system, in MiB.") var megabytes: Int

    func torture(_ bench: inout Workbench) throws -> [String] {
        let small = try SmallDisk(byteCount: megabytes << 20)
        defer { withExtendedLifetime(small) {} }
        let (disk, data) = (small.path, small.path + "/data")
        var daemon = try DaemonUnderTest.serving(bench, data: data)
        let filled = try fill(&bench, &daemon)
        try require(!filled.isEmpty, "nothing at all could be published on \(megabytes) MiB")
        try compare(filled, daemon)
        let half = Array(filled.prefix(filled.count / 2))
        try delete(half, daemon)
        let left = try waitUntilGivenBack(in: data, daemon)
        let again = try publishAgain(half, &daemon)
        let stored = again + filled.dropFirst(half.count)
        try compare(stored, daemon)
        try daemon.stop()
        try verify(bench, data: data, "after the disk was full")
        try fillTheRest(of: disk)
        let old = try startOnFullDisk(bench, data, mayServe: stored)
        // The store has given free pages back.
        try fillTheRest(of: disk)
        let new = try startOnFullDisk(bench, disk + "/new", mayServe: nil)
        return [
            "507 after \(filled.count) payloads of 512 KiB on \(megabytes) MiB, all of them read",
            "\(half.count) deleted, which left \(left >> 20) MiB on the disk, and \(again.count) published again",
            "on a full disk the store's start: \(old), an empty folder's: \(new)",
        ]
    }

    private func payload(_ number: Int) -> Payload {
        Payload(seed: UInt64(number), byteCount: 512 << 10, kind: .noise)
    }

    /// Publishes until the daemon has no room. Returns the numbers it acknowledged.
    private func fill(
        _ bench: inout Workbench, _ daemon: inout DaemonUnderTest
    ) throws -> [Int] {
        var connection = try daemon.connect()
        var filled: [Int] = []
        for number in 0..<megabytes * 2 + 8 {
            guard try publish(number, &connection) else {
                try daemon.requireRunning("when the disk was full")
                return filled
            }
            filled.append(number)
        }
        throw TestFailure("\(filled.count) payloads were taken, which is more than the disk holds")
    }

    /// Publishes; false when there is no room.
    private func publish(_ number: Int, _ connection: inout BlobConnection) throws -> Bool {
        let bytes = payload(number).bytes()
        do {
            try connection.put(
                PutRequest(id: "full-\(number)", mediaType: "image/jpeg"), bytes.span.bytes)
            return true
        } catch ClientError.refused(let problem) {
            try require(
                problem.status == 507 && problem.code == "full",
                "without room the daemon says \(problem.status) \(problem)")
            return false
        }
    }

    private func compare(_ numbers: [Int], _ daemon: borrowing DaemonUnderTest) throws {
        var connection = try daemon.connect()
        for number in numbers {
            try require(
                try connection.get("full-\(number)").bytes == payload(number).bytes(),
                "full-\(number) came back with other bytes")
        }
    }

    private func delete(_ numbers: [Int], _ daemon: borrowing DaemonUnderTest) throws {
        var connection = try daemon.connect()
        for number in numbers { try connection.call(.delete("full-\(number)")) }
        for number in numbers {
            do throws(ClientError) {
                _ = try connection.get("full-\(number)")
            } catch {
                guard case .notFound = error else { throw error }
                continue
            }
            throw TestFailure("full-\(number) is there after it was deleted")
        }
    }

    /// Waits until what the file takes of the disk is not much more than what lives in it.
    ///
    /// - Returns: how many bytes it takes then.
    private func waitUntilGivenBack(
        in data: String, _ daemon: borrowing DaemonUnderTest
    ) throws -> Int {
        var connection = try daemon.connect()
        var (taken, most) = (0, 0)
        try Clock.wait(
            milliseconds: 30_000,
            orThrow:
                "\(mebibytes(taken)) on the disk after the deletes; the limit is \(mebibytes(most))"
        ) {
            var status = stat()
            try require(stat("\(data)/data.mdb", &status) == 0, "data.mdb: \(words(errno))")
            taken = Int(status.st_blocks) * 512
            // Besides, --keep-free leaves some.
            most = try statistic("bytes_stored", &connection) * 13 / 10 + 4 << 20
            return taken <= most
        }
        return taken
    }

    /// Publishes what was deleted, and returns the numbers that found room. Freeing is a step of
    /// its own, so that the first may have to wait; the last few may not fit any more, because the
    /// holes are not where they were.
    private func publishAgain(
        _ numbers: [Int], _ daemon: inout DaemonUnderTest
    ) throws -> [Int] {
        var connection = try daemon.connect()
        var again: [Int] = []
        for number in numbers {
            let isDone = try Clock.wait(milliseconds: again.isEmpty ? 30_000 : 2_000) {
                try publish(number, &connection)
            }
            guard isDone else { break }
            again.append(number)
        }
        try daemon.requireRunning("after the disk was full")
        try require(
            again.count >= numbers.count * 3 / 4,
            "after \(numbers.count) deletes there is room for \(again.count) only")
        return again
    }

    /// Starts the daemon where nothing can be written. It serves what is there, or ends with words
    /// and a code; never by a signal.
    private func startOnFullDisk(
        _ bench: borrowing Workbench, _ data: String, mayServe numbers: [Int]?
    ) throws -> String {
        var daemon = try DaemonUnderTest(starting: bench, data: data)
        try Clock.wait(
            milliseconds: 20_000, orThrow: "on a full disk the daemon neither serves nor ends"
        ) {
            !daemon.isRunning() || (try? daemon.connect()) != nil
        }
        if let ending = daemon.waitForEnd(milliseconds: 200) {
            guard case .exited(let code) = ending, code != 0 else {
                throw TestFailure("on a full disk the daemon ended with \(ending)")
            }
            return "\(ending), \"\(bench.logTail().split(separator: "\n").last ?? "")\""
        }
        guard let numbers else { throw TestFailure("a new store on a full disk is served") }
        try compare(numbers, daemon)
        try daemon.stop()
        return "serves"
    }

    /// Writes a file until not a byte is left.
    private func fillTheRest(of disk: String) throws {
        let file = open(disk + "/other", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        try require(file >= 0, "no file could be made: \(words(errno))")
        defer { close(file) }
        let piece = [UInt8](repeating: 1, count: 4_096)
        while write(file, piece, piece.count) > 0 {}
        try require(errno == ENOSPC, "the disk did not fill up: \(words(errno))")
    }
}
