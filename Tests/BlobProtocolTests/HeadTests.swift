import Testing

import BlobProtocol
import Notifications

/// The heads of the binary operations: golden bytes, round trips and refusals.
@Suite struct HeadTests {
    private static let put = Put.Draft(
        id: "né", part: "p", mediaType: "a/b", owner: "o/o", app: "mail", title: "Ann",
        message: "m\nm", richType: "rt", lifetime: .seconds(258))

    @Test("put has its golden bytes, which say all of it")
    func goldenPut() throws {
        var out: [UInt8] = []
        try Self.put.compose(into: &out)
        let fixed = [2, 1] + Self.zeros(14) + [3, 1, 3, 3, 2, 4, 3, 0, 3, 0] + Self.zeros(6)
        #expect(out == fixed + Array("népa/bo/ortm\nmmailAnn".utf8))
        #expect(Self.put.flags == .ttlGiven)
        #expect(try Put.Draft(Put.Request.parse(out.span.bytes, flags: .ttlGiven)) == Self.put)
    }

    @Test("Drafts of all kinds come back as they were")
    func drafts() throws {
        for draft in [
            Self.put, Put.Draft(id: nil), Put.Draft(id: "a", lifetime: .until(milliseconds: 0)),
            Put.Draft(id: "a", lifetime: .until(milliseconds: WireLimits.expiryMillisecondsMax)),
            Put.Draft(
                id: String(repeating: "a", count: 255), part: String(repeating: "b", count: 64),
                mediaType: "a/" + String(repeating: "c", count: 253),
                owner: String(repeating: "d", count: 255), app: String(repeating: "g", count: 64),
                title: String(repeating: "h", count: 256),
                message: String(repeating: "f", count: 4_096),
                richType: String(repeating: "e", count: 255),
                lifetime: .seconds(.max)),
        ] {
            var out: [UInt8] = []
            try draft.compose(into: &out)
            let request = try Put.Request.parse(out.span.bytes, flags: draft.flags)
            let again = Put.Draft(request)
            #expect(again == draft)
            #expect(out.count <= WireLimits.frameHeadByteCountMax)
        }
    }

    @Test("Drafts that break a rule are refused before a byte is written")
    func badDrafts() {
        let long = String(repeating: "a", count: 256)
        for (draft, expected) in [
            (Put.Draft(id: "a/b"), ErrorCode.badID), (Put.Draft(id: long), .badID),
            (Put.Draft(id: "a", part: String(long.prefix(65))), .badPart),
            (Put.Draft(id: "a", mediaType: "text"), .badMediaType),
            (Put.Draft(id: "a", owner: long), .badOwner),
            (Put.Draft(id: "a", richType: "\n"), .badRichType),
            (Put.Draft(id: "a", message: String(repeating: "a", count: 4_097)), .badMessage),
            (Put.Draft(id: "a", app: "a/b"), .badApp),
            (Put.Draft(id: "a", app: String(long.prefix(65))), .badApp),
            (Put.Draft(id: "a", title: "a\nb"), .badTitle),
            (Put.Draft(id: "a", title: long + "a"), .badTitle),
            (Put.Draft(id: "a", lifetime: .seconds(0)), .badTTL),
            (Put.Draft(id: "a", lifetime: .seconds(-1)), .badTTL),
            (Put.Draft(id: "a", lifetime: .until(milliseconds: -1)), .badExpiry),
            (Put.Draft(id: "a", lifetime: .until(milliseconds: .max)), .badExpiry),
            (
                Put.Draft(id: "a", lifetime: Lifetime(ttlSeconds: 1, expiryMilliseconds: 1)),
                .badExpiry
            ),
        ] {
            var out: [UInt8] = []
            #expect(code { () throws(ProtocolError) in try draft.compose(into: &out) } == expected)
            #expect(out.isEmpty)
        }
    }

    /// Golden heads of requests, which compose back.
    private static let requests: [(Opcode, RequestFlags, [UInt8])] = [
        (.hello, [], [2, 0, 2, 0]),
        (.hello, [], [0, 0, 255, 255]),
        (.ping, [], []),
        (.get, [.gzipAccepted], zeros(16) + [2, 0] + zeros(6) + [52, 50]),
        (.get, [.rangeGiven], [1] + zeros(7) + ones(8) + [1, 2] + zeros(6) + [97, 98, 98]),
        (.get, [.rangeGiven, .headOnly], ones(8) + [1] + zeros(7) + [1, 0] + zeros(6) + [97]),
        (.get, [.digestGiven], zeros(16) + [32] + zeros(7) + ones(32)),
        (
            .get, [.digestGiven, .rangeGiven],
            zeros(8) + [1] + zeros(7) + [32] + zeros(7) + ones(32)
        ),
        (.put, [.idAssigned], zeros(32)),
        (.put, [.expiryGiven], zeros(8) + [1] + zeros(7) + [1] + zeros(15) + [97]),
        (.call, [], [1, 0, 2, 0, 0] + zeros(19) + Array("/a".utf8)),
        (
            .call, [.revisionGiven],
            [4, 1, 4, 0, 3] + zeros(3) + [7] + zeros(15) + Array("/a?bdt/x".utf8)
        ),
        (.call, [.mustBeAbsent], [2, 0, 1, 0, 0] + zeros(19) + Array("/".utf8)),
        (.call, [.mustExist], [5, 0, 1, 0, 0] + zeros(19) + Array("/".utf8)),
    ]

    private static func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }
    private static func ones(_ count: Int) -> [UInt8] { Array(repeating: 255, count: count) }

    @Test("Golden heads parse and compose to the same bytes")
    func golden() {
        for (operation, flags, head) in Self.requests {
            let again = recompose(head: head, of: operation, flags: flags)
            #expect(again == head, "\(operation) \(head)")
        }
    }

    @Test("Every head is refused when it is a byte short or a byte long")
    func lengths() {
        for (operation, flags, head) in Self.requests {
            for count in 0..<head.count {
                let piece = Array(head[..<count])
                #expect(recompose(head: piece, of: operation, flags: flags) == nil)
            }
            #expect(recompose(head: head + [97], of: operation, flags: flags) == nil)
        }
    }

    private func refusal(_ operation: Opcode, _ flags: RequestFlags, _ head: [UInt8]) -> ErrorCode?
    {
        code { () throws(ProtocolError) in
            _ = try recomposed(head: head, of: operation, flags: flags)
        }
    }

    @Test("Reserved bytes of heads end the connection")
    func reserved() {
        for (operation, offsets) in [
            (Opcode.put, Array(0..<16) + Array(27..<32)),
            (.get, Array(0..<16) + Array(18..<24)),
            (.call, Array(5..<24)),
        ] {
            for (candidate, flags, head) in Self.requests
            where candidate == operation && flags.isDisjoint(with: [.rangeGiven, .expiryGiven])
                && (operation != .call || !flags.contains(.revisionGiven))
            {
                for offset in offsets {
                    var changed = head
                    changed[offset] = 1
                    #expect(
                        refusal(operation, flags, changed) == .reserved, "\(operation) \(offset)")
                }
            }
        }
        #expect(ProtocolError(.reserved, "").endsConnection)
        #expect(ProtocolError(.version, "").endsConnection)
        #expect(!ProtocolError(.badID, "").endsConnection)
    }

    @Test("Heads that say something impossible are refused by name")
    func impossible() {
        #expect(refusal(.hello, [], [1, 0, 1, 0]) == .version)
        #expect(refusal(.hello, [], [3, 0, 4, 0]) == .version)
        #expect(refusal(.hello, [], [2, 0, 1, 0]) == .version)
        #expect(refusal(.get, [], Self.zeros(24)) == .badID)
        let digest = Self.zeros(16) + [31] + Self.zeros(7) + Self.ones(31)
        #expect(refusal(.get, .digestGiven, digest) == .badDigest)
        let partOfDigest = Self.zeros(16) + [32, 1] + Self.zeros(6) + Self.ones(32) + [97]
        #expect(refusal(.get, .digestGiven, partOfDigest) == .badPart)
        let emptyRange = Self.zeros(16) + [1, 0] + Self.zeros(6) + [97]
        #expect(refusal(.get, .rangeGiven, emptyRange) == .malformed)
        #expect(refusal(.call, [], [0, 0, 1, 0] + Self.zeros(20) + [47]) == .malformed)
        #expect(refusal(.call, [], [6, 0, 1, 0] + Self.zeros(20) + [47]) == .malformed)
        #expect(refusal(.call, [], [1, 0, 0, 0] + Self.zeros(20)) == .malformed)
        for target in ["a", "/a b", "/é", "/\u{7F}"] {
            let bytes = Array(target.utf8)
            #expect(
                refusal(.call, [], [1, 0, UInt8(bytes.count), 0] + Self.zeros(20) + bytes)
                    == .malformed, "\(target)")
        }
        #expect(
            refusal(.call, [.mustBeAbsent, .mustExist], [1, 0, 1, 0] + Self.zeros(20) + [47])
                == .malformed)
        #expect(refusal(.call, [], [1, 1, 1, 0] + Self.zeros(20) + [47, 47]) == .badDevice)
        #expect(
            refusal(.call, [], [1, 0, 1, 0, 1] + Self.zeros(19) + [47, 97]) == .badMediaType)
        #expect(refusal(.put, [], Self.zeros(32)) == .badID)
        let givenID = Self.zeros(16) + [1] + Self.zeros(15) + [97]
        #expect(refusal(.put, .idAssigned, givenID) == .badID)
        #expect(refusal(.put, [.ttlGiven], givenID) == .badTTL)
        #expect(refusal(.put, [.ttlGiven, .expiryGiven], givenID) == .badExpiry)
        #expect(
            refusal(.put, [.expiryGiven], Self.zeros(8) + Self.ones(8) + givenID[16...])
                == .badExpiry)
    }

    @Test("Answers have their golden bytes and come back")
    func responses() throws {
        let digest = (0..<32).map { UInt8($0) }
        let storeID = (0..<16).map { UInt8($0) }
        let text = Array("a/b".utf8)

        var hello: [UInt8] = []
        Hello.Response(payloadByteCountMax: 1, defaultTTLSeconds: 2, ttlSecondsMax: 3)
            .compose(storeID: storeID.span.bytes, serverVersion: text.span.bytes, into: &hello)
        let helloFixed: [UInt8] =
            [2, 0, 0, 0, 64, 0, 0, 0, 1] + Self.zeros(8) + [0x20] + Self.zeros(6) + [2]
            + Self.zeros(7) + [3] + Self.zeros(7)
        #expect(hello == helloFixed + storeID + [3] + Self.zeros(7) + text)
        #expect(try recompose(responseHead: hello, of: .hello) == hello)

        var put: [UInt8] = []
        Put.Response(
            byteCount: 5, storedByteCount: 4, expiryMilliseconds: -1, revision: 7, coding: .gzip
        ).compose(digest: digest.span.bytes, id: Array("id".utf8).span.bytes, into: &put)
        let putFixed: [UInt8] =
            [5] + Self.zeros(7) + [4] + Self.zeros(7) + Self.ones(8) + [7] + Self.zeros(7) + [1, 2]
        #expect(put == digest + putFixed + Self.zeros(6) + Array("id".utf8))
        #expect(try recompose(responseHead: put, of: .put) == put)

        var get: [UInt8] = []
        Get.Response(
            byteCount: 5, first: 1, expiryMilliseconds: 2, revision: 3, createdMilliseconds: 4,
            coding: .identity
        ).compose(digest: digest.span.bytes, mediaType: text.span.bytes, into: &get)
        let numbers: [UInt8] = [5, 1, 2, 3, 4].flatMap { [$0] + Self.zeros(7) }
        #expect(get == digest + numbers + [0, 3] + Self.zeros(6) + text)
        #expect(try recompose(responseHead: get, of: .get) == get)

        var call: [UInt8] = []
        Call.Response.compose(
            revision: 7, mediaType: text.span.bytes, location: Array("/l".utf8).span.bytes,
            into: &call)
        #expect(
            call == [7] + Self.zeros(7) + [3, 0, 2, 0] + Self.zeros(4) + Array("a/b/l".utf8))
        #expect(try recompose(responseHead: call, of: .call) == call)

        // The offsets are of a coding, which cannot be 2, and of reserved bytes.
        for (operation, head, offsets) in [
            (Opcode.hello, hello, [2, 3, 57, 63]), (.put, put, [64, 66, 71]),
            (.get, get, [72, 74, 79]), (.call, call, [9, 12, 15]),
        ] {
            for count in 0..<head.count {
                let short = Array(head[..<count])
                #expect((try? recompose(responseHead: short, of: operation)) == nil)
            }
            #expect((try? recompose(responseHead: head + [97], of: operation)) == nil)
            for offset in offsets {
                var changed = head
                changed[offset] = 2
                #expect((try? recompose(responseHead: changed, of: operation)) == nil)
            }
        }
    }

    @Test("Calls that break a rule are refused before a byte is written")
    func badCalls() {
        let long = "/" + String(repeating: "a", count: 8_000)
        for (target, device, mediaType, expected) in [
            (long, "", "", ErrorCode.malformed), ("", "", "", .malformed),
            ("a", "", "", .malformed),
            ("/", String(long.prefix(65)), "", .badDevice), ("/", "\n", "", .badDevice),
            ("/", "", "text", .badMediaType),
        ] {
            var out: [UInt8] = []
            let refusal = code { () throws(ProtocolError) in
                try Call.Request.compose(
                    .get, target: target, device: device, mediaType: mediaType, into: &out)
            }
            #expect(refusal == expected)
            #expect(out.isEmpty)
        }
        #expect(
            code { () throws(ProtocolError) in
                var out: [UInt8] = []
                try Call.Request.compose(.get, target: String(long.prefix(8_000)), into: &out)
            } == nil)
    }

    @Test("Slices of another span give nothing rather than what lies outside")
    func slices() {
        let bytes: [UInt8] = [1, 2, 3]
        let counts = [
            Slice(offset: 1, count: 2), Slice(offset: 3, count: 0), Slice(offset: 2, count: 2),
            Slice(offset: 4, count: 0), Slice(offset: -1, count: 2),
            Slice(offset: .max, count: .max),
        ].map { $0.of(bytes.span.bytes).byteCount }
        #expect(counts == [2, 0, 0, 0, 2, 0])
    }
}
