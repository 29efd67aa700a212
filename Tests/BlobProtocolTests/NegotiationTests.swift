import Testing

import BlobProtocol

/// Codings, ranges and entity tags: what decides how a payload is sent.
@Suite struct NegotiationTests {
    @Test(
        "Accept-Encoding with weights (RFC 9110, section 12.5.3)",
        arguments: [
            ("gzip", true, true, true), ("GZIP", true, true, true), ("x-gzip", true, true, true),
            ("br, gzip;q=0.5", true, true, true), ("gzip;q=0", false, true, false),
            ("gzip;q=0.000", false, true, false), ("gzip; q=0.001", true, true, true),
            ("*", true, true, true), ("*;q=0", false, false, false),
            ("gzip, *;q=0", true, false, true), ("identity;q=0", false, false, false),
            ("identity;q=0, gzip", true, false, true), ("*;q=0, identity", false, true, false),
            ("gzip;q=0.5, identity", true, true, false), ("", false, true, false),
            ("deflate", false, true, false), ("gzip;q=2", false, true, false),
            ("gzip;q=1.001", false, true, false), ("gzip;q=0.0001", false, true, false),
            ("gzip;x=1", false, true, false), ("gzip;q=", false, true, false),
            ("gzip;q=0,*", false, true, false), (", ,gzip,", true, true, true),
            ("gzip ;\tq=1.000", true, true, true), ("gzip;Q=0.", false, true, false),
        ])
    func acceptEncoding(value: String, gzip: Bool, identity: Bool, prefers: Bool) {
        let accept = parseFields("Accept-Encoding: \(value)").head?.acceptEncoding
        #expect(accept?.acceptsGzip == gzip)
        #expect(accept?.acceptsIdentity == identity)
        #expect(accept?.prefersGzip == prefers)
    }

    @Test("Several Accept-Encoding lines are one list; none at all is identity")
    func acceptEncodingLines() {
        let two = parseFields("Accept-Encoding: br\nAccept-Encoding: identity;q=0, gzip").head
        #expect(two?.acceptEncoding.acceptsGzip == true)
        #expect(two?.acceptEncoding.acceptsIdentity == false)
        let none = parseFields("X: y").head
        #expect(none?.acceptEncoding.acceptsGzip == false)
        #expect(none?.acceptEncoding.acceptsIdentity == true)
    }

    @Test(
        "One range of bytes is read (RFC 9110, section 14.1.2)",
        arguments: [
            ("bytes=0-0", WireRange?.some(.from(0, count: 1))), ("BYTES=5-", .from(5, count: nil)),
            ("bytes=-7", .suffix(7)), ("bytes=-0", .suffix(0)),
            ("bytes=1-99999999999999999999", .from(1, count: .max)),
            ("bytes=0-99999999999999999999", .from(0, count: nil)),
            ("bytes=99999999999999999999-", .from(.max, count: nil)), ("bytes=2-1", .none),
            ("bytes=0-1,3-4", .none), ("bytes=0-1,", .none), ("bytes=", .none), ("bytes=-", .none),
            ("bytes=a-", .none), ("bytes=1-b", .none), ("bytes= 0-1", .none), ("bytes=+1-2", .none),
            ("bytes=--1", .none), ("items=0-1", .none), ("bytes 0-1", .none), ("", .none),
        ])
    func range(value: String, expected: WireRange?) {
        #expect(parseFields("Range: \(value)").head?.range == expected)
    }

    @Test("Range is ignored twice, and with other methods (RFC 9110, section 14.2)")
    func rangeIgnored() {
        for (fields, method) in [
            ("Range: bytes=0-1\nRange: bytes=0-1", "GET"), ("Range: bytes=0-1", "HEAD"),
        ] {
            let head = parseFields(fields, method: method).head
            #expect(head != nil && head?.range == nil)
        }
    }

    @Test("Ranges are resolved against a length (RFC 9110, section 14.1.2)")
    func resolve() {
        for (range, byteCount, expected) in [
            (WireRange(first: 0), 10, ResolvedRange.partial(0, 10)),
            (WireRange(first: 9, count: 1), 10, .partial(9, 10)),
            (WireRange(first: 9, count: .max), 10, .partial(9, 10)),
            (WireRange(first: 10), 10, .unsatisfiable), (WireRange(first: 0), 0, .unsatisfiable),
            (WireRange(first: 0, count: .max), .max, .partial(0, .max)),
            (.suffix(3), 10, .partial(7, 10)), (.suffix(30), 10, .partial(0, 10)),
            (.suffix(0), 10, .unsatisfiable), (.suffix(3), 0, .whole),
            (WireRange(first: 2), 5, .partial(2, 5)),
            (WireRange(first: 2, count: 2), 5, .partial(2, 4)),
            (WireRange(first: 2, count: .max - 1), 5, .partial(2, 5)),
            (WireRange(first: .max, count: .max - 1), .max, .unsatisfiable),
        ] as [(WireRange, UInt64, ResolvedRange)] {
            #expect(range.resolve(byteCount: byteCount) == expected, "\(range)")
        }
    }

    @Test(
        "Entity tags are compared weakly and strongly (RFC 9110, section 8.8.3.2)",
        arguments: [
            ("\"a\"", true, true), ("W/\"a\"", true, false), ("w/\"a\"", false, false),
            ("*", true, true), ("\"b\"", false, false), ("\"b\", \"a\"", true, true),
            ("\"b\",W/\"a\" ,", true, false), (",,\"a\"", true, true),
            ("\"a\" \"b\"", false, false),
            ("\"a\", x", false, false), ("\"a\", \"", false, false), ("a", false, false),
            ("\"x,\"a\"", false, false), ("\"x,\", \"a\"", true, true), ("*, \"a\"", false, false),
            ("", false, false), ("\"a b\", \"a\"", false, false), ("W", false, false),
            ("W/", false, false), ("W/a", false, false),
        ])
    func tags(value: String, weakly: Bool, strongly: Bool) {
        let value = Array(value.utf8)
        let tag = Array("\"a\"".utf8)
        let isWeak = EntityTags.match(value.span.bytes, tag: tag.span.bytes, .weak)
        let isStrong = EntityTags.match(value.span.bytes, tag: tag.span.bytes, .strong)
        #expect(isWeak == weakly)
        #expect(isStrong == strongly)
    }

    @Test("Tags are looked for in all lines of a field")
    func tagLines() {
        let bytes = crlf("GET / HTTP/1.1\nHost: b\nIf-None-Match: \"x\"\nif-none-match: \"a\"\n\n")
        let lines = parseHead(bytes).head?.ifNoneMatch ?? FieldLines()
        let tag = Array("\"a\"".utf8)
        let other = Array("\"b\"".utf8)
        let found = EntityTags.match(lines, in: bytes.span.bytes, tag: tag.span.bytes, .weak)
        let notFound = EntityTags.match(lines, in: bytes.span.bytes, tag: other.span.bytes, .weak)
        #expect(found)
        #expect(!notFound)
    }

    // `text/event-stream;q=0` got a stream.
    @Test(
        "A stream of events is asked for by its name, with a weight other than 0",
        arguments: [
            ("text/event-stream", true), ("TEXT/Event-Stream", true),
            ("text/html, text/event-stream;q=0.1", true), ("text/event-stream; q=0.001", true),
            ("text/event-stream;charset=utf-8", true),
            ("text/event-stream;charset=utf-8;q=1", true), ("text/event-stream;xq=0", true),
            ("text/event-stream;q=0, text/event-stream", true),
            ("text/event-stream;q=0", false), ("text/event-stream; Q=0.000", false),
            ("text/event-stream;charset=utf-8 ; q=0", false), ("text/event-stream;q=x", false),
            ("text/event-stream;q=2", false), ("text/event-stream;q=", false), ("*/*", false),
            ("text/*", false), ("", false), ("text/event-streams", false),
        ])
    func mediaRanges(accept: String, isNamed: Bool) {
        let bytes = Array(accept.utf8)
        #expect(MediaRanges.names("text/event-stream", in: bytes.span.bytes) == isNamed)
    }
}
