import TestSupport
import Testing

@testable import BlobStore

/// Which blobs are leased, and which were verified: tables of numbers.
@Suite struct NumberSetTests {
    @Test(
        "It counts as a dictionary does, while it grows, fills and empties", arguments: [8, 3_000])
    func model(numberCount: Int) {
        let seed = testSeed(32)
        let steps = testRounds(12_000)
        var random = SeededGenerator(seed: seed)
        // Neighbours, as a store gives them, and such as fall into the same places.
        let numbers = (0..<numberCount).map { index in
            UInt64(1) << 56 + UInt64(index) << (index % 3 == 0 ? 0 : index % 3 == 1 ? 6 : 33)
        }
        var counts = LeaseCounts()
        var model: [UInt64: Int] = [:]
        for step in 0..<steps {
            let number = numbers.randomElement(using: &random)!
            // More are taken than given back for a while, and then fewer.
            if Int.random(in: 0..<10, using: &random) < (step / (steps / 6) % 2 == 0 ? 7 : 2) {
                counts.add(number)
                model[number, default: 0] += 1
            } else {
                counts.remove(number)
                if let count = model[number] { model[number] = count > 1 ? count - 1 : nil }
            }
            if step % 1_000 == 0 || numberCount < 10 {
                for number in numbers {
                    let isHeld = counts.contains(number)
                    #expect(isHeld == (model[number] != nil), "seed \(seed), step \(step)")
                }
            }
        }
        let total = counts.total
        #expect(total == model.values.reduce(0, +), "seed \(seed)")
        for (number, count) in model {
            for _ in 0..<count { counts.remove(number) }
        }
        let left = counts.total
        #expect(left == 0, "seed \(seed)")
    }

    /// The tag was once not compared: numbers that share a word counted as checked with each other, so
    /// that a damaged chunk was sent.
    @Test("Numbers that share a word with one that is in the set are not in it")
    func sharedWords() {
        let set = VerifiedSet()
        let capacity = UInt64(set.capacity)
        for number: UInt64 in [0, 1, 31, 32, 77, capacity - 1] {
            set.insert(number)
            for times: UInt64 in 1...5 {
                let other = number + times * capacity
                #expect(!set.contains(other), "\(other) beside \(number)")
            }
            #expect(set.contains(number), "\(number)")
        }
        // The later one takes the word.
        set.insert(5 + capacity)
        let (later, earlier) = (set.contains(5 + capacity), set.contains(0))
        #expect(later && !earlier)
    }
}
