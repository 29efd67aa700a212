import Bytes
import Notifications
import Testing

import BlobProtocol

/// Paths, percent-encoding, queries, times and ranges.
@Suite struct TargetTests {
    /// The id and the name of the part in a link's path.
    private func link(_ path: String) -> [String?]? {
        let bytes = Array(path.utf8)
        guard case .link(let id, let name) = PayloadPath.parse(bytes.span.bytes) else { return nil }
        return [text(id, in: bytes), text(name, in: bytes)]
    }

    /// Other paths, and what is no path of anything, are in `Tests/Exchanges/heads.txt`.
    @Test("The paths of links")
    func links() {
        #expect(link("/d/4%2F2") == ["4%2F2", ""])
        #expect(link("/d/users") == ["users", ""])
        #expect(link("/d/42/parts/a.b") == ["42", "a.b"])
        #expect(link("/d/users/parts/sound") == ["users", "sound"])
        #expect(link("/d/%75sers/parts/changes") == ["%75sers", "changes"])
        // The feed of the owner `parts` is none.
        for path in [
            "", "*", "/d", "/d/", "/d//", "/d/1/", "/d/1/payload", "/d/1/parts/",
            "/d/users/users/changes", "/d/users/parts/changes",
        ] {
            #expect(link(path) == nil, "\(path)")
        }
    }

    private func decoded(_ text: String, plus: Bool = false) -> [UInt8]? {
        var out: [UInt8] = []
        let code = code { () throws(ProtocolError) in
            try PercentCoding.decode(
                Array(text.utf8).span.bytes, plusIsSpace: plus, orThrow: .badID, into: &out)
        }
        return code == nil ? out : nil
    }

    @Test("Percent-encoding is undone and made (RFC 3986, section 2.1)")
    func percent() {
        #expect(decoded("a%2Fb%2f+%00") == Array("a/b/+\0".utf8))
        #expect(decoded("a+b", plus: true) == Array("a b".utf8))
        for text in ["%", "%2", "a%2", "%zz", "%2g", "%%41"] { #expect(decoded(text) == nil) }
        let every = (0...255).map { UInt8($0) }
        var encoded: [UInt8] = []
        PercentCoding.encode(every.span.bytes, into: &encoded)
        let text = String(decoding: encoded, as: UTF8.self)
        #expect(decoded(text) == every)
        #expect(text.contains("%2F") && text.contains("~") && !text.contains("/"))
        let isPlain = PercentCoding.isPlain(Array("a+b".utf8).span.bytes)
        let isPlainQuery = PercentCoding.isPlain(Array("a+b".utf8).span.bytes, plusIsSpace: true)
        #expect(isPlain && !isPlainQuery)
    }

    @Test("A query has at most 16 parameters")
    func queryLimit() {
        // The limit is met before a name is looked at twice.
        var parameters = QueryParameters()
        let bytes = Array(String(repeating: "a&", count: 17).utf8)
        var count = 0
        let problem = code { () throws(ProtocolError) in
            while try parameters.next(bytes.span.bytes) != nil { count += 1 }
        }
        #expect(count == WireLimits.queryParameterCountMax)
        #expect(problem == .badQuery)
    }

    @Test(
        "Times are read (RFC 3339, section 5.6)",
        arguments: [
            ("1970-01-01T00:00:00Z", 0 as Int64), ("2000-02-29T12:00:00.5z", 951_825_600_500),
            ("2026-12-01t00:00:00.123456Z", 1_796_083_200_123),
            ("2026-12-01T01:00:00+01:00", 1_796_083_200_000),
            ("2026-11-30T18:30:00-05:30", 1_796_083_200_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            ("1970-01-01T00:00:00-23:59", 86_340_000),
        ])
    func times(text: String, milliseconds: Int64) {
        let parsed = try? RFC3339.parse(Array(text.utf8).span.bytes)
        #expect(parsed == milliseconds)
    }

    @Test(
        "Invalid times are refused",
        arguments: [
            "", "2026-12-01", "2026-12-01T00:00:00", "2026-12-01 00:00:00Z", "2026-12-01T00:00:60Z",
            "2026-12-01T24:00:00Z", "2026-12-01T00:60:00Z", "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z", "2026-12-00T00:00:00Z", "2026-12-01T00:00:00.Z",
            "2026-12-01T00:00:00+1:00", "2026-12-01T00:00:00+01:60", "2026-12-01T00:00:00+24:00",
            "2026-12-01T00:00:00 01:00", "2026-12-01T00:00:00Z ", "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "+026-12-01T00:00:00Z",
            "2026-12-01T00:00:00.", "2026-12-01T00:00:00.1", "20261201T000000000Z0",
        ])
    func badTimes(text: String) {
        let problem = code { () throws(ProtocolError) in
            _ = try RFC3339.parse(Array(text.utf8).span.bytes)
        }
        #expect(problem == .badExpiry)
    }

    @Test("Every day of 1970…9999 is written and read back")
    func everyDay() throws {
        var out: [UInt8] = []
        for day in stride(from: 0 as Int64, to: 2_932_897, by: 97) {
            out.removeAll(keepingCapacity: true)
            let time = day * 86_400_000 + day % 86_400_000
            RFC3339.append(time, to: &out)
            let parsed = try RFC3339.parse(out.span.bytes)
            #expect(parsed == time)
        }
        func written(_ time: Int64) -> String {
            var out: [UInt8] = []
            RFC3339.append(time, to: &out)
            return String(decoding: out, as: UTF8.self)
        }
        #expect(written(-1) == "1970-01-01T00:00:00.000Z")
        #expect(written(1_735_689_599_987) == "2024-12-31T23:59:59.987Z")
        #expect(written(951_827_696_005) == "2000-02-29T12:34:56.005Z")
        #expect(written(.max) == "9999-12-31T23:59:59.999Z")
    }

    @Test("Digests are read in either case")
    func digests() throws {
        let hex = String(repeating: "0aF", count: 21) + "0"
        for prefix in ["sha256:", "SHA256:", "sha256%3A"] {
            let digest = try Digest(onWire: Array((prefix + hex).utf8).span.bytes).rawBytes
            #expect(digest[0] == 0x0A && digest[1] == 0xF0 && digest[31] == 0xF0)
        }
        for text in [
            "", "sha256:", "sha256:" + hex.dropLast(), "sha256:\(hex)0", hex,
            "sha256:" + hex.dropLast() + "g", "md5:" + hex,
        ] {
            let problem = code { () throws(ProtocolError) in
                _ = try Digest(onWire: Array(text.utf8).span.bytes)
            }
            #expect(problem == .badDigest)
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
}
