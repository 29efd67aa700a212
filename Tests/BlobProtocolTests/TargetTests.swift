import Bytes
import Testing

import BlobProtocol

/// Paths, percent-encoding, queries and times.
@Suite struct TargetTests {
    /// A route with its slices as text.
    private func route(_ path: String) -> [String] {
        let bytes = Array(path.utf8)
        switch Route.parse(path: bytes.span.bytes) {
        case .livez: return ["live"]
        case .readyz: return ["ready"]
        case .stats: return ["stats"]
        case .metrics: return ["metrics"]
        case .backup: return ["backup"]
        case .scrub: return ["scrub"]
        case .replication: return ["replication"]
        case .openAPI: return ["openapi"]
        case .notifications: return ["notifications"]
        case .notification(let id): return ["notification", text(id, in: bytes)!]
        case .payload(let id): return ["payload", text(id, in: bytes)!]
        case .part(let id, let name): return ["part", text(id, in: bytes)!, text(name, in: bytes)!]
        case .classicPayload(let id): return ["classic", text(id, in: bytes)!]
        case .blob(let digest): return ["blob", text(digest, in: bytes)!]
        case .blobs: return ["blobs"]
        case .batch: return ["batch"]
        case .responses(let id): return ["responses", text(id, in: bytes)!]
        case .envelope(let id): return ["envelope", text(id, in: bytes)!]
        case .categories: return ["categories"]
        case .category(let name): return ["category", text(name, in: bytes)!]
        case .owner(let owner): return ["owner", text(owner, in: bytes)!]
        case .ownerNotifications(let owner): return ["history", text(owner, in: bytes)!]
        case .ownerChanges(let owner): return ["changes", text(owner, in: bytes)!]
        case .link(let id): return ["link", text(id, in: bytes)!]
        case .partLink(let id, let name):
            return ["part link", text(id, in: bytes)!, text(name, in: bytes)!]
        case .changesLink(let owner): return ["changes link", text(owner, in: bytes)!]
        case .unknown: return []
        }
    }

    @Test("Each path leads to its resource")
    func routes() {
        #expect(route("/livez") == ["live"])
        #expect(route("/readyz") == ["ready"])
        #expect(route("/healthz") == ["ready"])
        #expect(route("/v1/stats") == ["stats"])
        #expect(route("/v1/backup") == ["backup"])
        #expect(route("/metrics") == ["metrics"])
        #expect(route("/v1/scrub") == ["scrub"])
        #expect(route("/v1/scrub/1") == [])
        #expect(route("/v1/replication") == ["replication"])
        #expect(route("/v1/backups") == [])
        #expect(route("/v1/openapi.json") == ["openapi"])
        #expect(route("/v1/openapi") == [])
        #expect(route("/d/4%2F2") == ["link", "4%2F2"])
        #expect(route("/d/users") == ["link", "users"])
        #expect(route("/d/42/parts/a.b") == ["part link", "42", "a.b"])
        #expect(route("/d/users/parts/changes") == ["changes link", "parts"])
        #expect(route("/d/%75sers/parts/changes") == ["part link", "%75sers", "changes"])
        #expect(route("/d/users/parts/sound") == ["part link", "users", "sound"])
        #expect(route("/d/users/users/changes") == ["changes link", "users"])
        #expect(route("/d/users/parts/changes/x") == [])
        #expect(route("/d/users/ann/changes") == ["changes link", "ann"])
        for path in ["/d", "/d/", "/d/42/", "/d/42/payload", "/d/user/ann/changes", "/d//changes"] {
            #expect(route(path) == [])
        }
        #expect(route("/v1/notifications") == ["notifications"])
        #expect(route("/v1/notifications/4%2F2") == ["notification", "4%2F2"])
        #expect(route("/v1/notifications/42/payload") == ["payload", "42"])
        #expect(route("/v1/notifications/payload/parts/a.b") == ["part", "payload", "a.b"])
        #expect(route("/api/notifications/42") == ["classic", "42"])
        #expect(route("/v1/blobs/sha256:00") == ["blob", "sha256:00"])
        #expect(route("/v1/blobs") == ["blobs"])
        #expect(route("/v1/notifications:batch") == ["batch"])
        #expect(route("/v1/notifications/4/responses") == ["responses", "4"])
        #expect(route("/v1/notifications/4/envelope") == ["envelope", "4"])
        #expect(route("/v1/categories") == ["categories"])
        #expect(route("/v1/categories/INVITE") == ["category", "INVITE"])
        #expect(route("/v1/users/a%2Fb") == ["owner", "a%2Fb"])
        #expect(route("/v1/users/u/notifications") == ["history", "u"])
        #expect(route("/v1/users/u/changes") == ["changes", "u"])
    }

    @Test(
        "Other paths are unknown",
        arguments: [
            "", "/", "*", "healthz", "/healthz/", "/healthz/x", "/livez/", "/readyz/x", "//healthz",
            "/v1", "/v1/",
            "/V1/stats",
            "/v1/stats/", "/v1/notifications/", "/v1/notifications//payload",
            "/v1/notifications/1/", "/v1/notifications/1/payload/", "/v1/notifications/1/other",
            "/v1/notifications/1/parts", "/v1/notifications/1/parts/",
            "/v1/notifications/1/parts/a/b",
            "/api/notifications", "/api/notifications/", "/api/notifications/1/payload", "/api/x/1",
            "/v1/blobs/", "/v1/blobs/a/b", "/v1/x", "/v1/notifications:batch/",
            "/v1/notifications:batch/x", "/v1/notifications/1/responses/",
            "/v1/notifications/1/responses/2", "/v1/notifications/1/envelope/", "/v1/categories/",
            "/v1/categories//", "/v1/categories/a/b", "/v1/users", "/v1/users/",
            "/v1/users//changes", "/v1/users/u/", "/v1/users/u/changes/", "/v1/users/u/other",
            "/v1/users/u/notifications/1",
        ])
    func unknown(path: String) {
        #expect(route(path) == [])
    }

    @Test("Allow lists what the resource allows (RFC 9110, section 10.2.1)")
    func allow() {
        let slice = Slice.empty
        let routes: [Route] = [
            .livez, .readyz, .stats, .metrics, .backup, .scrub, .replication, .openAPI,
            .notifications,
            .notification(id: slice),
            .payload(id: slice),
            .part(id: slice, name: slice), .classicPayload(id: slice), .blob(digest: slice),
            .batch, .responses(id: slice), .envelope(id: slice), .categories,
            .category(name: slice), .owner(owner: slice), .ownerNotifications(owner: slice),
            .ownerChanges(owner: slice), .link(id: slice), .partLink(id: slice, name: slice),
            .changesLink(owner: slice), .unknown,
        ]
        let names: [(HTTPMethod, String)] = [
            (.get, "GET"), (.head, "HEAD"), (.put, "PUT"), (.post, "POST"), (.delete, "DELETE"),
            (.patch, "PATCH"), (.options, "OPTIONS"),
        ]
        for route in routes {
            let allowed = "\(route.allow)".split(separator: ", ").map(String.init)
            let expected = names.filter { route.allows($0.0) }.map(\.1)
            #expect(Set(allowed) == Set(expected))
            #expect(!route.allows(.other))
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

    private func query(_ text: String) throws(ProtocolError) -> PublishQuery {
        let bytes = Array(text.utf8)
        return try PublishQuery.parse(bytes.span.bytes)
    }

    @Test("A publish query gives its values decoded")
    func publishQuery() throws {
        let result = try query("ttl=60&message=a+b%2B%26&rich_type=img&owner=u&&")
        #expect(result.ttlSeconds == 60 && result.expiryMilliseconds == nil)
        #expect(result.message == "a b+&" && result.richType == "img" && result.owner == "u")
        #expect(try query("") == PublishQuery())
        #expect(
            try query("expires_at=2026-12-01T00:00:00%2B01:00").expiryMilliseconds
                == 1_796_079_600_000)
    }

    @Test(
        "Bad queries are refused by name",
        arguments: [
            ("ttl=0", ErrorCode.badTTL), ("ttl=-1", .badTTL), ("ttl=1.5", .badTTL),
            ("ttl=", .badTTL),
            ("ttl", .badTTL), ("ttl=1h", .badTTL), ("ttl=9223372036854775808", .badTTL),
            ("ttl=99999999999999999999", .badTTL), ("ttl=1&ttl=1", .badQuery),
            ("message=a&message=", .badQuery), ("x=1", .badQuery), ("TTL=1", .badQuery),
            ("=1", .badQuery), ("message=%4", .badQuery), ("%=1", .badQuery),
            ("message=%ff", .badMessage), ("message=%00", .badMessage), ("owner=a%0a", .badOwner),
            ("rich_type=%7f", .badRichType), ("expires_at=now", .badExpiry),
            ("ttl=1&expires_at=2026-12-01T00:00:00Z", .badExpiry),
        ])
    func badQueries(text: String, expected: ErrorCode) {
        #expect(code { () throws(ProtocolError) in _ = try query(text) } == expected)
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
}
