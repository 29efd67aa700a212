import LoadGenerator
import Testing

@testable import Compare

@Suite struct PeerDialectsTests {
    /// What a dialect makes of an answer.
    private func head(
        _ dialect: any LoadDialect, _ text: some StringProtocol, to kind: RequestKind
    ) throws -> AnswerHead? {
        try dialect.answerHead(in: Array(text.utf8).span.bytes, to: kind)
    }

    private let item = LoadItem(index: 3, id: "bench-1", byteCount: 5)

    private func text(_ compose: (inout [UInt8]) throws -> Void) rethrows -> String {
        var bytes: [UInt8] = []
        try compose(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func memcachedAsks() {
        let dialect = MemcachedDialect()
        #expect(text { dialect.appendFetch(of: item, to: &$0) } == "mg bench-1 v\r\n")
        #expect(text { dialect.appendPublish(of: item, to: &$0) } == "ms bench-1 5\r\n")
    }

    @Test func redisAsks() {
        let dialect = RedisDialect()
        #expect(
            text { dialect.appendFetch(of: item, to: &$0) }
                == "*2\r\n$3\r\nGET\r\n$7\r\nbench-1\r\n")
        #expect(
            text { dialect.appendPublish(of: item, to: &$0) }
                == "*3\r\n$3\r\nSET\r\n$7\r\nbench-1\r\n$5\r\n")
        #expect(dialect.publishTrailer == Array("\r\n".utf8))
    }

    @Test func redisExpires() {
        let dialect = RedisDialect(ttlSeconds: 7_200)
        let head = text { dialect.appendPublish(of: item, to: &$0) }
        let trailer = String(decoding: dialect.publishTrailer, as: UTF8.self)
        #expect(
            head + "hello" + trailer
                == "*5\r\n$3\r\nSET\r\n$7\r\nbench-1\r\n$5\r\nhello\r\n$2\r\nEX\r\n$4\r\n7200\r\n")
    }

    @Test func redisStreamsAsk() throws {
        let dialect = RedisStreamDialect(ttlSeconds: 60)
        let item = LoadItem(index: 3, id: "push-1", byteCount: 5, owner: "ann")
        let head = text { dialect.appendPublish(of: item, to: &$0) }
        let trailer = String(decoding: dialect.publishTrailer, as: UTF8.self)
        let expected = [
            "*1", "$5", "MULTI", "*5", "$4", "XADD", "$3", "ann", "$1", "*", "$2", "id", "$6",
            "push-1", "*5", "$3", "SET", "$6", "push-1", "$5", "hello", "$2", "EX", "$2", "60",
            "*1", "$4", "EXEC", "",
        ]
        #expect(head + "hello" + trailer == expected.joined(separator: "\r\n"))
        #expect(trailer.utf8.count <= LoadLimits.publishTrailerByteCountMax)
        let first = try text { try dialect.appendWatch(of: "ann", after: nil, to: &$0) }
        let watch = ["*6", "$5", "XREAD", "$5", "BLOCK", "$1", "0", "$7", "STREAMS", "$3", "ann"]
        #expect(first == (watch + ["$1", "0", ""]).joined(separator: "\r\n"))
        // Without the line end of the answer before, and with it.
        for start in [[], [""]] {
            let lines = [
                "*1", "*2", "$3", "ann", "*1", "*2", "$5", "123-4", "*2", "$2", "id", "$6",
            ]
            let answer = (start + lines + ["push-1"]).joined(separator: "\r\n")
            let next = try text {
                try dialect.appendWatch(of: "ann", after: Array(answer.utf8).span.bytes, to: &$0)
            }
            #expect(next == (watch + ["$5", "123-4", ""]).joined(separator: "\r\n"))
        }
        #expect(throws: LoadFailure.self) {
            try text {
                let answer = Array("-ERR push-1".utf8)
                try dialect.appendWatch(of: "ann", after: answer.span.bytes, to: &$0)
            }
        }
    }

    /// Every prefix of a head is not whole; the head is, with or without what follows.
    @Test(arguments: [
        (MemcachedDialect() as any LoadDialect, "VA 5\r\n", RequestKind.fetch, 5, 2),
        (RedisDialect(), "$5\r\n", .fetch, 5, 2),
        (MemcachedDialect(), "HD\r\n", .publish, 0, 0),
        (RedisDialect(), "+OK\r\n", .publish, 0, 0),
        (
            RedisStreamDialect(ttlSeconds: 1),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$5\r\n123-4\r\n+OK\r\n", .publish, 0, 0
        ),
    ])
    func answersAreReadInPieces(
        dialect: any LoadDialect, answer: String, kind: RequestKind, body: Int, trailer: Int
    ) throws {
        for count in 0..<answer.utf8.count {
            #expect(
                try head(
                    dialect, String(decoding: answer.utf8.prefix(count), as: UTF8.self), to: kind)
                    == nil)
        }
        let expected = AnswerHead(
            headByteCount: answer.utf8.count, bodyByteCount: body, trailerByteCount: trailer)
        #expect(try head(dialect, answer, to: kind) == expected)
        #expect(try head(dialect, answer + "hello\r\n\(answer)", to: kind) == expected)
    }

    @Test(arguments: [
        (MemcachedDialect() as any LoadDialect, "EN\r\n"),
        (MemcachedDialect(), "VA x\r\n"),
        (MemcachedDialect(), "SERVER_ERROR out of memory\r\n"),
        (RedisDialect(), "$-1\r\n"),
        (RedisDialect(), "-ERR unknown command\r\n"),
        (RedisStreamDialect(ttlSeconds: 1), "-LOADING\r\n"),
        (RedisDialect(), "\r\n"),
    ])
    func whatIsNoPayloadIsAFailure(dialect: any LoadDialect, answer: String) {
        #expect(throws: LoadFailure.self) { try head(dialect, answer, to: .fetch) }
        #expect(throws: LoadFailure.self) { try head(dialect, answer, to: .publish) }
    }

    /// Bytes without an end are not waited for until memory is full.
    @Test(arguments: [MemcachedDialect() as any LoadDialect, RedisDialect()])
    func aHeadWithoutEndIsAFailure(dialect: any LoadDialect) {
        let rubbish = String(repeating: "x", count: 4_096)
        #expect(throws: LoadFailure.self) { try head(dialect, rubbish, to: .fetch) }
    }
}
