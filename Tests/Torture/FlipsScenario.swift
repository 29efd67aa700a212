import ArgumentParser
import Glibc
import Synchronization
import TestSupport

/// Flips bits of a store's file, and looks what a daemon makes of it.
struct FlipsScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "flips",
        abstract: "One flipped bit at a time, aimed at LMDB's pages and anywhere.",
        discussion: """
            Each image is a store of every kind of entry with one bit changed. A daemon is \
            started on it, asked for everything, told to publish and to delete, and stopped; then \
            once more. No byte may be wrong, what it acknowledges must be there, and it may die once \
            an image at the most: the next start serves or refuses. `blobd verify` must not call an \
            image clean from which something was missing, and must not die.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "Images with a bit that LMDB looks at. With --short: 60.")
    var aimed: Int?

    @Option(help: "Images with any bit. With --short: 20.")
    var random: Int?

    @Option(help: "How many of each; --aimed and --random go before it.")
    var rounds: Int?

    @Option(help: "How many images at the same time.")
    var workers = 2

    @Option(help: "Which image to begin with, to repeat one.")
    var first = 0

    var secondsMax: UInt32 { UInt32(clamping: 300 + aimedCount + randomCount) }

    private var aimedCount: Int { aimed ?? rounds ?? (options.short ? 60 : 3_000) }
    private var randomCount: Int { random ?? rounds ?? (options.short ? 20 : 10_000) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        var daemon = try DaemonUnderTest.serving(bench, arguments: Self.arguments)
        try FlipQuestions.fill(bench.socket)
        try daemon.stop()
        daemon = try DaemonUnderTest.serving(bench, arguments: Self.arguments)
        let questions = try FlipQuestions(of: bench.socket)
        try daemon.stop()
        try verify(bench, "of the whole store")
        let image = try Files.read(bench.data + "/data.mdb")
        let targets = try FlipTargets(image)
        let next = Counter(first)
        let total = Total()
        let (seed, folder, blobd) = (bench.seed, bench.folder, bench.blobd)
        let (aimedCount, all) = (aimedCount, first + aimedCount + randomCount)
        try Threads.run(workers) { worker in
            let flipper = try FlipWorker(
                folder: "\(folder)/\(worker)", blobd: blobd, image: image, questions: questions)
            while let number = next.take(below: all) {
                var generator = SeededGenerator(seed: seed, thread: number)
                let bit =
                    number - first < aimedCount || first > 0 && number < aimedCount
                    ? targets.random(using: &generator)
                    : FlipTargets.Bit(
                        offset: Int.random(in: 0..<image.count, using: &generator),
                        bit: Int.random(in: 0..<8, using: &generator), kind: "anywhere")
                do {
                    let figures = try flipper.run(bit)
                    total.value.withLock { $0.add(figures, bit.kind) }
                } catch {
                    throw TestFailure(
                        "image \(number), bit \(bit.bit) of byte \(bit.offset) (\(bit.kind)): \(error)"
                    )
                }
            }
        }
        return total.value.withLock { $0.words }
    }

    static let arguments = ["--workers", "1", "--sweep-interval", "20ms"]

    private final class Total: Sendable {
        let value = Mutex(FlipFigures())
    }

    /// The numbers of the images that are left.
    private final class Counter: Sendable {
        private let next: Atomic<Int>
        init(_ first: Int) { next = Atomic(first) }
        func take(below end: Int) -> Int? {
            let number = next.add(1, ordering: .relaxed).oldValue
            return number < end ? number : nil
        }
    }
}

/// What became of the images.
struct FlipFigures: Sendable {
    var images = 0
    var harmless = 0
    var refused = 0
    var deaths = 0
    var served = 0
    var deathsByKind: [String: Int] = [:]

    mutating func add(_ other: FlipFigures, _ kind: String) {
        images += other.images
        harmless += other.harmless
        refused += other.refused
        deaths += other.deaths
        served += other.served
        if other.deaths > 0 { deathsByKind[kind, default: 0] += other.deaths }
    }

    var words: [String] {
        let kinds = deathsByKind.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return [
            "\(images) images", "\(harmless) as if nothing were", "\(served) served in part",
            "\(refused) refused", "\(deaths) deaths (\(kinds.joined(separator: ", ")))",
            "0 wrong bytes",
        ]
    }
}
