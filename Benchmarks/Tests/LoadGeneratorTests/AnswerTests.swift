import BlobProtocol
import Testing

@testable import LoadGenerator

/// Answers are read wherever they are cut, and rubbish is told from them.
@Suite struct AnswerTests {
    private let payloads: LoadPayloads

    init() throws { payloads = try LoadPayloads(.fixed(100), count: 20, seed: 5) }

    private func http(_ index: Int, head: String = "Content-Length: 100\r\n") -> [UInt8] {
        Array("HTTP/1.1 200 OK\r\nDate: x\r\nCache-Control: c\r\n\(head)\r\n".utf8)
            + bytes(payloads, index)
    }

    private func binary(_ index: Int) throws -> [UInt8] {
        var answer: [UInt8] = []
        ResponseFrame(
            opcode: Opcode.get.rawValue, status: 200, requestID: 7, headByteCount: 33,
            bodyByteCount: 100
        ).compose(into: &answer)
        return answer + [UInt8](repeating: 9, count: 33) + bytes(payloads, index)
    }

    /// The answers to 3, 4 and 3 again, one behind the other, in every dialect.
    private func each(_ body: (any LoadDialect, [UInt8]) throws -> Void) throws {
        try body(HTTPDialect(), http(3) + http(4) + http(3))
        try body(BinaryDialect(), try binary(3) + binary(4) + binary(3))
        try body(
            LineDialect(), [3, 4, 3].flatMap { lineAnswer(bytes(payloads, $0)) })
    }

    @Test("Answers are read whole, at every cut, and byte by byte")
    func cuts() throws {
        try each { dialect, stream in
            for cut in 0...stream.count {
                let pieces = [Array(stream[..<cut]), Array(stream[cut...])]
                let count = try read(pieces, asking: [3, 4, 3], dialect, payloads)
                #expect(count == 3, "\(dialect.name), cut at \(cut)")
            }
            let count = try read(singly(stream), asking: [3, 4, 3], dialect, payloads)
            #expect(count == 3, "\(dialect.name), byte by byte")
            let early = try read(
                [Array(stream.dropLast())], asking: [3, 4, 3], dialect, payloads)
            #expect(early == 2, "\(dialect.name), without its last byte")
        }
    }

    @Test("Of whatever comes, nothing traps", arguments: [1, 2, 3] as [UInt64])
    func rubbish(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for dialect in [HTTPDialect(), BinaryDialect(), LineDialect()] as [any LoadDialect] {
            for _ in 0..<2_000 {
                // Right answers with a few bytes changed, which go further than noise.
                var stream =
                    dialect.name == "http"
                    ? http(3) : dialect.name == "binary" ? try binary(3) : lineAnswer([1])
                for _ in 0..<1 + generator.index(below: 6) {
                    stream[generator.index(below: min(60, stream.count))] =
                        UInt8(truncatingIfNeeded: generator.next())
                }
                let pieces = cut(stream, upTo: 80, using: &generator)
                // Seed \(seed): an answer, none or a failure are all right.
                _ = try? read(pieces, asking: [3], dialect, payloads)
            }
        }
    }

    @Test(
        "What is no success ends the run with the server's words",
        arguments: [
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404 Not Found"),
            ("HTTP/1.1 206 Partial Content\r\nContent-Length: 100\r\n\r\n", "206"),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "\"x\""),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "no Content-Length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "Content-Length"),
            ("SSH-2.0-OpenSSH_9.2 hello\r\n", "status line"),
        ])
    func refusals(answer: String, words: String) throws {
        let failure = #expect(throws: LoadFailure.self) {
            try read([Array(answer.utf8)], asking: [3], HTTPDialect(), payloads)
        }
        #expect(failure?.reason == .server)
        #expect(failure?.description.contains(words) == true, "\(failure?.description ?? "")")
    }

    @Test("A binary error, and an answer to another operation, end the run")
    func binaryRefusals() throws {
        for (opcode, status) in [(Opcode.get, 404), (Opcode.put, 200), (Opcode.get, 507)] {
            var answer: [UInt8] = []
            ResponseFrame(
                opcode: opcode.rawValue, status: UInt16(status), requestID: 0, headByteCount: 0,
                bodyByteCount: 100
            ).compose(into: &answer)
            let failure = #expect(throws: LoadFailure.self) {
                try read([answer], asking: [3], BinaryDialect(), payloads)
            }
            #expect(failure?.description.contains("\(status)") == true)
        }
    }

    @Test("A head that does not end is a failure at the limit, and not before")
    func endlessHead() throws {
        let line = Array("X-Filler: 0123456789\r\n".utf8)
        var head = Array("HTTP/1.1 200 OK\r\n".utf8)
        while head.count + line.count < LoadLimits.answerHeadByteCountMax { head += line }
        #expect(try read([head], asking: [3], HTTPDialect(), payloads) == 0)
        let failure = #expect(throws: LoadFailure.self) {
            try read([head, line, line], asking: [3], HTTPDialect(), payloads)
        }
        #expect(
            failure?.description.contains("\(LoadLimits.answerHeadByteCountMax)") == true)
    }

    @Test("The answers to publishes may be any success, and their bodies anything")
    func publishes() throws {
        let answer = Array("HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\n{}\n".utf8)
        #expect(try read(singly(answer), asking: [3], HTTPDialect(), payloads, to: .publish) == 1)
        let empty = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)
        #expect(try read(singly(empty), asking: [3], HTTPDialect(), payloads, to: .publish) == 1)
    }
}
