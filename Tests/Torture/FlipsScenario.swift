import Glibc
import Synchronization
import TestSupport

/// Flips bits of a store's file, and looks what a daemon makes of it.
struct FlipsScenario: Scenario {
    static let about = About(
        "flips", "One flipped bit at a time, aimed at LMDB's pages and anywhere.",
        """
        Each image is a store of every kind of entry with one bit changed. A daemon is started on it, asked for
        everything, told to publish and to delete, and stopped; then once more. No byte may be wrong, what it
        acknowledges must be there, and it may die once an image at the most: the next start serves or refuses.
        `blobd verify` must not call an image clean from which something was missing, and must not die.
        """)

    @Setting(3_000, short: 60, "Images with a bit that LMDB looks at.") var aimed: Int
    @Setting(10_000, short: 20, "Images with any bit.") var random: Int
    @Setting(2, "How many images at the same time.") var workers: Int
    @Setting(0, "Which image to begin with, to repeat one.") var first: Int

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
        let next = Atomic(first)
        let tally = Mutex<[String: Int]>([:])
        let (whole, aimed, all) = (bench, aimed, aimed + random)
        try Threads.run(workers) { worker in
            let flipper = FlipWorker(Workbench("\(worker)", of: whole), image, questions)
            while true {
                let number = next.add(1, ordering: .relaxed).oldValue
                guard number < all else { return }
                var generator = SeededGenerator(seed: whole.seed, thread: number)
                let bit =
                    number < aimed
                    ? targets.random(using: &generator)
                    : FlipTargets.Bit(
                        offset: Int.random(in: 0..<image.count, using: &generator),
                        bit: Int.random(in: 0..<8, using: &generator), kind: "anywhere")
                do {
                    for outcome in try flipper.run(bit) {
                        tally.withLock { $0[outcome, default: 0] += 1 }
                    }
                } catch {
                    throw TestFailure(
                        "image \(number), bit \(bit.bit) of byte \(bit.offset) (\(bit.kind)): \(error)"
                    )
                }
            }
        }
        let counts = tally.withLock { $0 }
        return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            + ["0 wrong bytes"]
    }

    static let arguments = ["--workers", "1", "--sweep-interval", "20ms"]
}
