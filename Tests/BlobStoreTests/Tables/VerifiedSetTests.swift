import Testing

@testable import BlobStore

/// What is not checked again must be just what was checked.
@Suite struct VerifiedSetTests {
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
