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
            ("bytes=0-0", RangeSpec.from(0, last: 0)), ("BYTES=5-", .from(5, last: nil)),
            ("bytes=-7", .suffix(7)), ("bytes=-0", .suffix(0)),
            ("bytes=1-99999999999999999999", .from(1, last: .max)),
            ("bytes=99999999999999999999-", .from(.max, last: nil)), ("bytes=2-1", .none),
            ("bytes=0-1,3-4", .none), ("bytes=0-1,", .none), ("bytes=", .none), ("bytes=-", .none),
            ("bytes=a-", .none), ("bytes=1-b", .none), ("bytes= 0-1", .none), ("bytes=+1-2", .none),
            ("bytes=--1", .none), ("items=0-1", .none), ("bytes 0-1", .none), ("", .none),
        ])
    func range(value: String, expected: RangeSpec) {
        #expect(parseFields("Range: \(value)").head?.range == expected)
    }

    @Test("Range is ignored twice, and with other methods (RFC 9110, section 14.2)")
    func rangeIgnored() {
        #expect(parseFields("Range: bytes=0-1\nRange: bytes=0-1").head?.range == RangeSpec.none)
        #expect(parseFields("Range: bytes=0-1", method: "HEAD").head?.range == RangeSpec.none)
    }

    @Test("Ranges are resolved against a length (RFC 9110, section 14.1.2)")
    func resolve() {
        #expect(RangeSpec.none.resolve(byteCount: 10) == .whole)
        #expect(RangeSpec.from(0, last: nil).resolve(byteCount: 10) == .partial(0, 10))
        #expect(RangeSpec.from(9, last: 9).resolve(byteCount: 10) == .partial(9, 10))
        #expect(RangeSpec.from(9, last: .max).resolve(byteCount: 10) == .partial(9, 10))
        #expect(RangeSpec.from(10, last: nil).resolve(byteCount: 10) == .unsatisfiable)
        #expect(RangeSpec.from(0, last: nil).resolve(byteCount: 0) == .unsatisfiable)
        #expect(RangeSpec.from(0, last: .max).resolve(byteCount: .max) == .partial(0, .max))
        #expect(RangeSpec.suffix(3).resolve(byteCount: 10) == .partial(7, 10))
        #expect(RangeSpec.suffix(30).resolve(byteCount: 10) == .partial(0, 10))
        #expect(RangeSpec.suffix(0).resolve(byteCount: 10) == .unsatisfiable)
        #expect(RangeSpec.suffix(3).resolve(byteCount: 0) == .whole)
        #expect(WireRange(first: 2).resolve(byteCount: 5) == .partial(2, 5))
        #expect(WireRange(first: 2, count: 2).resolve(byteCount: 5) == .partial(2, 4))
        #expect(WireRange(first: 2, count: .max - 1).resolve(byteCount: 5) == .partial(2, 5))
        #expect(WireRange(first: 5).resolve(byteCount: 5) == .unsatisfiable)
        #expect(WireRange(first: .max, count: .max - 1).resolve(byteCount: .max) == .unsatisfiable)
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
        let isWeak = EntityTags.matchesWeakly(value.span.bytes, tag: tag.span.bytes)
        let isStrong = EntityTags.matchesStrongly(value.span.bytes, tag: tag.span.bytes)
        #expect(isWeak == weakly)
        #expect(isStrong == strongly)
    }

    @Test("Tags are looked for in all lines of a field")
    func tagLines() {
        let bytes = crlf("GET / HTTP/1.1\nHost: b\nIf-None-Match: \"x\"\nif-none-match: \"a\"\n\n")
        let lines = parseHead(bytes).head?.ifNoneMatch ?? FieldLines()
        let tag = Array("\"a\"".utf8)
        let other = Array("\"b\"".utf8)
        let found = EntityTags.matchesWeakly(lines, in: bytes.span.bytes, tag: tag.span.bytes)
        let notFound = EntityTags.matchesWeakly(lines, in: bytes.span.bytes, tag: other.span.bytes)
        #expect(found)
        #expect(!notFound)
    }

    @Test("If-Range is the very tag; no weak one, no date (RFC 9110, section 13.1.5)")
    func ifRange() {
        let tag = Array("\"a\"".utf8)
        for (value, expected) in [
            ("\"a\"", true), ("W/\"a\"", false), ("*", false), ("\"b\"", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", false),
        ] {
            let value = Array(value.utf8)
            let matches = EntityTags.matchesIfRange(value.span.bytes, tag: tag.span.bytes)
            #expect(matches == expected)
        }
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
