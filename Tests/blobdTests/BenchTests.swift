import Testing

@testable import blobd

/// The load generator must know a wrong byte when it sees one.
@Suite struct BenchTests {
    private static let payloads = BenchPayloads(byteCount: 100, seed: 5)

    private func answers(
        _ answer: [UInt8], cutAt cut: Int, expecting expected: Int
    ) throws(BenchFailure) -> [Int] {
        var reader = BenchAnswers(.http)
        var statuses: [Int] = []
        for piece in [Array(answer[..<cut]), Array(answer[cut...])] {
            var offset = 0
            while offset < piece.count {
                let event = try reader.take(
                    piece.span.bytes, from: &offset, expecting: expected, of: Self.payloads)
                if case .answer(let status) = event { statuses.append(status) }
            }
        }
        return statuses
    }

    private func answer(_ index: Int) -> [UInt8] {
        let head = "HTTP/1.1 200 OK\r\nDate: x\r\ncontent-LENGTH: 100\r\n\r\n"
        let payloads = Self.payloads
        let body = payloads.bytes(index)
        var bytes = Array(head.utf8)
        body.withUnsafeBytes { bytes.append(contentsOf: $0) }
        return bytes
    }

    @Test("An answer is read whole, wherever it is cut")
    func cuts() throws {
        let answer = answer(3)
        for cut in 0...answer.count {
            let statuses = try answers(answer, cutAt: cut, expecting: 3)
            #expect(statuses == [200], "cut at \(cut)")
        }
    }

    @Test("A wrong byte, another payload and another length end the run")
    func wrong() throws {
        let right = answer(3)
        for offset in right.count - 100..<right.count {
            var wrong = right
            wrong[offset] ^= 1
            #expect(throws: BenchFailure.self) { try answers(wrong, cutAt: 10, expecting: 3) }
        }
        #expect(throws: BenchFailure.self) { try answers(right, cutAt: 10, expecting: 4) }
        let short = Array("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n".utf8)
        #expect(throws: BenchFailure.self) { try answers(short, cutAt: 0, expecting: 3) }
    }
}
