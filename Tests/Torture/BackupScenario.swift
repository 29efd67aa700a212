import ArgumentParser
import BlobClient
import Glibc
import Synchronization
import TestSupport

/// Takes backups of a daemon while many publish at full rate, and compares what is restored.
struct BackupScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Backups beside publishers: one moment, whole or absent, bounded growth.",
        discussion: """
            Each publisher replaces its notifications in turn. A restored store must have one moment: \
            everything that was acknowledged before the backup began, nothing that began behind it, and \
            of each publisher a state that it had. Some backups are killed at random moments: the target \
            must then be absent, or be restored.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "Backups that are restored and compared. With --short: 1.")
    var rounds: Int?

    @Option(help: "Backups that are killed. With --short: 3.")
    var kills: Int?

    @Option(help: "How many publish at the same time. With --short: 8.")
    var publishers: Int?

    var secondsMax: UInt32 { UInt32(clamping: 300 + (rounds ?? 10) * 60 + (kills ?? 50) * 20) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let rounds = rounds ?? (options.short ? 1 : 10)
        let kills = kills ?? (options.short ? 3 : 50)
        var daemon = try DaemonUnderTest.serving(bench)
        let crowd = Crowd(count: publishers ?? (options.short ? 8 : 64), socket: daemon.socket)
        let threads = try Threads.start(crowd.count) { try crowd.publish(as: $0) }
        defer { crowd.stop() }
        while !crowd.isWarm { Clock.pause(microseconds: 1_000) }
        let before = allocatedByteCount(bench)
        var longest = 0
        var compared = 0
        for round in 1...rounds {
            let start = Clock.milliseconds()
            compared += try backUpAndCompare(crowd, round, bench)
            longest = max(longest, Clock.milliseconds() - start)
        }
        var wholeCount = 0
        for number in 0..<kills {
            let pause = Int.random(in: 0..<600_000, using: &bench.generator)
            wholeCount += try kill(number, afterMicroseconds: pause, bench) ? 1 : 0
        }
        crowd.stop()
        try threads.join()
        let after = allocatedByteCount(bench)
        try daemon.stop()
        try verify(bench, "after the backups")
        return [
            "\(rounds) backups beside \(crowd.count) publishers, \(compared) notifications compared",
            "\(crowd.publishCount) publishes",
            "\(kills) backups killed, \(wholeCount) of them whole, the others absent",
            "data.mdb \(before >> 20) MiB before, \(after >> 20) MiB after",
            "a round took at most \(longest) ms",
        ]
    }

    private func allocatedByteCount(_ bench: borrowing Workbench) -> Int {
        var status = stat()
        stat("\(bench.data)/data.mdb", &status)
        return Int(status.st_blocks) * 512
    }

    // MARK: - One backup

    /// - Returns: how many notifications were compared.
    private func backUpAndCompare(
        _ crowd: Crowd, _ round: Int, _ bench: borrowing Workbench
    ) throws -> Int {
        let file = "\(bench.folder)/backup-\(round)"
        let folder = "\(bench.folder)/restored-\(round)"
        let before = crowd.counts
        try runBlobd(["backup", file, "--socket", bench.socket], bench)
        let behind = crowd.counts
        try require(mkdir(folder, 0o700) == 0, "mkdir \(folder)")
        try runBlobd(["restore", file, "--data", "\(folder)/data"], bench)
        let other = Workbench(folder: folder, blobd: bench.blobd)
        try verify(other, "of backup \(round)")
        var restored = try DaemonUnderTest.serving(other)
        var connection = try restored.connect()
        var compared = 0
        for publisher in 0..<crowd.count {
            compared += try compare(
                publisher, before[publisher].done...behind[publisher].begun, &connection)
        }
        try restored.stop()
        Files.remove(folder)
        Files.remove(file)
        return compared
    }

    /// Compares what one publisher has in a restored store with a state that it had.
    ///
    /// - Parameter bounds: how many of its publishes there may be.
    private func compare(
        _ publisher: Int, _ bounds: ClosedRange<Int>, _ connection: inout BlobConnection
    ) throws -> Int {
        var numbers: [Int?] = []
        for slot in 0..<Crowd.slotCount {
            do {
                let bytes = try connection.get(Crowd.id(publisher, slot)).bytes
                guard let number = Crowd.number(of: bytes, publisher) else {
                    throw TestFailure("\(Crowd.id(publisher, slot)) has another's bytes")
                }
                numbers.append(number)
            } catch ClientError.notFound {
                numbers.append(nil)
            }
        }
        let count = (numbers.compactMap { $0 }.max() ?? -1) + 1
        try require(
            bounds.contains(count),
            "publisher \(publisher) has \(count) publishes, which were \(bounds)")
        for (slot, number) in numbers.enumerated() {
            // The last one of this slot before the moment.
            let last =
                count - 1 - ((count - 1 - slot) % Crowd.slotCount + Crowd.slotCount)
                % Crowd.slotCount
            let expected = count > 0 && last >= 0 ? last : nil
            try require(
                number == expected,
                "publisher \(publisher), \(count) publishes: slot \(slot) has \(number ?? -1), not \(expected ?? -1)"
            )
        }
        return numbers.count
    }

    /// Kills a backup.
    ///
    /// - Returns: whether it was whole by then.
    private func kill(
        _ number: Int, afterMicroseconds pause: Int, _ bench: borrowing Workbench
    ) throws -> Bool {
        let file = "\(bench.folder)/killed-\(number)"
        let pid = try spawn(
            [bench.blobd, "backup", file, "--socket", bench.socket], output: .file(bench.log),
            errors: .output)
        Clock.pause(microseconds: pause)
        Glibc.kill(pid, SIGKILL)
        reap(pid)
        guard Files.exists(file) else { return false }
        let folder = "\(bench.folder)/whole-\(number)"
        try runBlobd(["restore", file, "--data", folder], bench)
        Files.remove(folder)
        Files.remove(file)
        return true
    }

    private func runBlobd(_ arguments: [String], _ bench: borrowing Workbench) throws {
        // The one that was killed just now may still be ending in the daemon.
        var ending = ProcessEnd.exited(1)
        for _ in 0..<100 {
            ending = try runToEnd([bench.blobd] + arguments, log: bench.log)
            if ending == .exited(0) { return }
            Clock.pause(microseconds: 100_000)
        }
        throw TestFailure("blobd \(arguments[0]) ended with \(ending)")
    }
}

/// Those who publish. Publish `n` of a publisher replaces its notification `n % slotCount`, and its bytes
/// say so.
private final class Crowd: Sendable {
    struct Count {
        var begun = 0
        var done = 0
    }

    static let slotCount = 50

    let count: Int
    private let socket: String
    private let all: Mutex<[Count]>
    private let isStopped = Atomic(false)

    init(count: Int, socket: String) {
        self.count = count
        self.socket = socket
        all = Mutex([Count](repeating: Count(), count: count))
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Whether each has published each of its notifications.
    var isWarm: Bool { all.withLock { $0.allSatisfy { $0.done >= Self.slotCount } } }

    var publishCount: Int { all.withLock { $0.reduce(0) { $0 + $1.done } } }

    /// Of each publisher.
    var counts: [Count] { all.withLock { $0 } }

    func publish(as publisher: Int) throws {
        var connection = try BlobConnection.connect(to: socket)
        var number = 0
        while !isStopped.load(ordering: .relaxed) {
            all.withLock { $0[publisher].begun = number + 1 }
            let bytes = Self.bytes(publisher, number)
            _ = try connection.put(
                PutRequest(
                    id: Self.id(publisher, number % Self.slotCount), mediaType: "image/png"),
                bytes.span.bytes)
            all.withLock { $0[publisher].done = number + 1 }
            number += 1
        }
    }

    static func id(_ publisher: Int, _ slot: Int) -> String { "\(publisher)-\(slot)" }

    /// A line that says whose and which, again and again, up to 40,000 bytes.
    private static func bytes(_ publisher: Int, _ number: Int) -> [UInt8] {
        let line = Array("\(publisher) \(number) ".utf8)
        let byteCount = 100 + (number &* 7_919 + publisher &* 104_729) % 40_000
        var bytes: [UInt8] = []
        while bytes.count < byteCount { bytes += line }
        return bytes
    }

    /// Which publish of a publisher bytes are of; nil: they are not what it published.
    static func number(of bytes: [UInt8], _ publisher: Int) -> Int? {
        let words = bytes.prefix(40).split(separator: 0x20)
        guard words.count >= 2, let number = Int(String(decoding: words[1], as: UTF8.self)),
            bytes == Self.bytes(publisher, number)
        else { return nil }
        return number
    }
}
