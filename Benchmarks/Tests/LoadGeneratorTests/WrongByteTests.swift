import Testing

@testable import LoadGenerator

/// A generator that does not know a wrong byte when it sees one measures nothing.
@Suite struct WrongByteTests {
    private let payloads: LoadPayloads

    init() throws { payloads = try LoadPayloads(.fixed(1_000), count: 20, seed: 5) }

    private func failure(
        _ answers: [[UInt8]], asking indices: [Int], upTo most: Int, check: LoadCheck
    ) -> LoadFailure? {
        var generator = SeededGenerator(seed: 9)
        let pieces = cut(answers.flatMap { $0 }, upTo: most, using: &generator)
        do throws(LoadFailure) {
            _ = try read(pieces, asking: indices, LineDialect(), payloads, check: check)
            return nil
        } catch {
            return error
        }
    }

    @Test("A wrong byte is found wherever it is, and named", arguments: [7, 300, 5_000])
    func everyPosition(most: Int) {
        let right = bytes(payloads, 3)
        #expect(failure([lineAnswer(right)], asking: [3], upTo: most, check: .all) == nil)
        for offset in right.indices {
            var wrong = right
            wrong[offset] ^= 0x10
            let found = failure([lineAnswer(wrong)], asking: [3], upTo: most, check: .all)
            #expect(found?.reason == .wrongBytes, "byte \(offset)")
            let id = payloads.item(3).id
            let words = "\(id): byte \(offset) of 1000 is \(wrong[offset]); expected "
            #expect(found?.description.hasPrefix(words) == true, "\(found?.description ?? "")")
        }
    }

    @Test("Another payload and another length end the run, also when only samples are compared")
    func otherPayload() {
        for check in LoadCheck.allCases {
            let other = lineAnswer(bytes(payloads, 4))
            #expect(failure([other], asking: [3], upTo: 99, check: check)?.reason == .wrongBytes)
            for count in [0, 999, 1_001] {
                let body = [UInt8](repeating: 1, count: count)
                let found = failure([lineAnswer(body)], asking: [3], upTo: 99, check: check)
                #expect(found?.reason == .wrongBytes, "\(count) bytes")
                #expect(found?.description.contains("\(count) bytes; expected 1000") == true)
            }
        }
    }

    @Test("Samples find what is wrong in the ends of every body, and anywhere in one of sixteen")
    func samples() {
        let right = lineAnswer(bytes(payloads, 3))
        let edge = LoadCheck.sampledEdgeByteCount
        let head = right.count - 2 - 1_000
        func found(_ offset: Int, inAnswer number: Int, upTo most: Int) -> Bool {
            var answers = [[UInt8]](repeating: right, count: number + 1)
            answers[number][head + offset] ^= 1
            let indices = [Int](repeating: 3, count: answers.count)
            return failure(answers, asking: indices, upTo: most, check: .sample) != nil
        }
        for most in [10, 700, 100_000] {
            for offset in [0, 1, edge - 1, 1_000 - edge, 999] {
                for number in [0, 1, 15, 16] {
                    #expect(found(offset, inAnswer: number, upTo: most))
                }
            }
            for number in [0, 16, 32] { #expect(found(500, inAnswer: number, upTo: most)) }
            // This is what a sample leaves out.
            #expect(!found(500, inAnswer: 1, upTo: most))
        }
    }
}
