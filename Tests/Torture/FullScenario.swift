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
        let most = megabytes * 2 + 8
        let filled = try publish(Array(0..<most), patience: 0, &daemon)
        try require(
            !filled.isEmpty && filled.count < most,
            "\(filled.count) payloads were taken on \(megabytes) MiB")
        try compare(filled, daemon)
        let half = Array(filled.prefix(filled.count / 2))
        try delete(half, daemon)
        let left = try waitUntilGivenBack(in: data, daemon)
        let again = try publish(half, patience: 300_000, &daemon)
        // The last few may not fit any more, because the holes are not where they were.
        try require(
            again.count >= half.count * 3 / 4,
            "after \(half.count) deletes there is room for \(again.count) only")
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

    /// Publishes until the daemon has no room for one. Returns the numbers it acknowledged.
    ///
    /// - Parameter patience: how long it may have none for the first, in milliseconds, since freeing is a step of its
    ///   own; and a fifteenth of that for the others.
    private func publish(
        _ numbers: [Int], patience: Int, _ daemon: inout DaemonUnderTest
    ) throws -> [Int] {
        var connection = try daemon.connect()
        var stored: [Int] = []
        for number in numbers {
            let bytes = payload(number).bytes()
            let request = PutRequest(id: "full-\(number)", mediaType: "image/jpeg")
            let limit = stored.isEmpty ? patience : patience / 15
            let isDone = try Clock.wait(milliseconds: limit) {
                do {
                    try connection.put(request, bytes.span.bytes)
                    return true
                } catch ClientError.refused(let problem) {
                    try require(
                        problem.status == 507 && problem.code == "full",
                        "without room the daemon says \(problem.status) \(problem)")
                    return false
                }
            }
            guard isDone else { break }
            stored.append(number)
        }
        try daemon.requireRunning("when the disk was full")
        return stored
    }

    private func compare(_ numbers: [Int], _ daemon: borrowing DaemonUnderTest) throws {
        var connection = try daemon.connect()
        for number in numbers {
            try require(
                try content(of: "full-\(number)", &connection) == "\(payload(number).digest())",
                "full-\(number) is another one")
        }
    }

    private func delete(_ numbers: [Int], _ daemon: borrowing DaemonUnderTest) throws {
        var connection = try daemon.connect()
        for number in numbers { try connection.call(.delete("full-\(number)")) }
        for number in numbers {
            try require(
                try content(of: "full-\(number)", &connection) == nil,
                "full-\(number) is there after it was deleted")
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
            milliseconds: 120_000,
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

    /// Starts the daemon where nothing can be written. It serves what is there, or ends with words
    /// and a code; never by a signal.
    private func startOnFullDisk(
        _ bench: borrowing Workbench, _ data: String, mayServe numbers: [Int]?
    ) throws -> String {
        var daemon = try DaemonUnderTest(starting: bench, data: data)
        try Clock.wait(
            milliseconds: 120_000, orThrow: "on a full disk the daemon neither serves nor ends"
        ) {
            !daemon.isRunning() || (try? daemon.connect()) != nil
        }
        if let ending = daemon.waitForEnd(milliseconds: 200) {
            let words = bench.logTail().split(separator: "\n").last ?? ""
            try require(
                ending == .exited(1) && words.contains("blobd: "),
                "on a full disk the daemon ended with \(ending): \(words)")
            return "\(ending), \"\(words)\""
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
