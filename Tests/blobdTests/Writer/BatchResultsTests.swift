import BlobProtocol
import BlobStore
import Testing

@testable import BlobServer

/// What a batch is told that was handed over in pieces.
@Suite struct BatchResultsTests {
    private static func lines(_ ids: String...) -> [BatchLine] {
        ids.map { BatchLine(id: $0) }
    }

    private static func applied(_ ids: String...) -> ChangeResult {
        .lines(ids.map { BatchLine.Answered(id: $0, result: .applied(.deleted)) })
    }

    private static func words(_ whole: (result: ChangeResult, span: BatchSpan)?) -> [String] {
        switch whole?.result {
        case .lines(let lines)?:
            lines.map { line in
                switch line.result {
                case .applied(.deleted): "\(line.id ?? "-") deleted"
                case .failed: "\(line.id ?? "-") failed"
                case .refused: "\(line.id ?? "-") refused"
                default: "?"
                }
            }
        case .failed?: ["failed"]
        case nil: []
        default: ["?"]
        }
    }

    @Test("The result comes with the last piece and has all lines in their order")
    func all() {
        let results = BatchResults(pieceCount: 3)
        #expect(Self.words(results.add(Self.applied("a"), of: Self.lines("a"))) == [])
        #expect(Self.words(results.add(Self.applied("b", "c"), of: Self.lines("b", "c"))) == [])
        #expect(
            Self.words(results.add(Self.applied("d"), of: Self.lines("d")))
                == ["a deleted", "b deleted", "c deleted", "d deleted"])
    }

    @Test("A batch in pieces is in all batches of the store from the first to the last")
    func span() {
        let results = BatchResults(pieceCount: 3)
        for number: UInt64 in 7...8 {
            let piece = Self.applied("a")
            #expect(results.add(piece, of: Self.lines("a"), in: BatchSpan(number))?.span == nil)
        }
        let whole = results.add(.failed(.full), of: Self.lines("b"))
        #expect(whole?.span == BatchSpan(first: 7, last: 8))
    }

    @Test("When a later piece fails, its lines say so and the others what became of them")
    func some() {
        let results = BatchResults(pieceCount: 2)
        #expect(Self.words(results.add(Self.applied("a"), of: Self.lines("a"))) == [])
        var lines = Self.lines("b")
        lines.append(
            BatchLine(
                id: "c", refused: ProtocolError(.badDocument, "it is no document")))
        #expect(
            Self.words(results.add(.failed(.full), of: lines))
                == ["a deleted", "b failed", "c refused"])
    }

    @Test("When no piece is applied, the batch is refused as a whole")
    func none() {
        let results = BatchResults(pieceCount: 2)
        #expect(Self.words(results.add(.failed(.full), of: Self.lines("a"))) == [])
        #expect(Self.words(results.add(.failed(.full), of: Self.lines("b"))) == ["failed"])
    }
}
