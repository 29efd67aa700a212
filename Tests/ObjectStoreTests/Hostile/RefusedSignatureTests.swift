import TestSupport
import Testing

@testable import ObjectStore

/// Keys that are rotated and clocks that differ.
@Suite struct RefusedSignatureTests {
    /// 2013-05-24T00:00:00Z.
    private static let ours: Int64 = 1_369_353_600
    private static let tenYearsLater = "Wed, 24 May 2023 00:00:00 GMT"

    @Test("A clock ten years off is corrected by the server's", arguments: [403, 400])
    func skewed(status: Int) throws {
        let server = try ScriptedServer { request in
            request.headers["x-amz-date"]?.hasPrefix("20230524T0000") == true
                ? [.stored]
                : [.error(status, "RequestTimeTooSkewed", ["Date: \(Self.tenYearsLater)"])]
        }
        let clock = SigningClock { Self.ours }
        let bucket = try bucket(server, clock: clock)
        let client = try bucket.makeClient()
        let body: [UInt8] = [1]
        #expect(try client.create("a", body.span.bytes) == .created)
        #expect(try client.create("b", body.span.bytes) == .created)
        // Another client has the clock, too.
        #expect(try bucket.makeClient().create("c", body.span.bytes) == .created)
        #expect(server.requests.count == 4)
        #expect(clock.offsetSeconds == 3_652 * 86_400)
    }

    @Test(
        "A server that refuses its own clock is refused by name",
        arguments: ["Date: \(tenYearsLater)", "Date: today", "X: y"])
    func notToBeHelped(header: String) throws {
        let server = try ScriptedServer { _ in [.error(403, "RequestTimeTooSkewed", [header])] }
        let bucket = try bucket(server, clock: SigningClock { Self.ours })
        let client = try bucket.makeClient()
        let error = #expect(throws: ObjectStoreError.self) { try client.get("a", byteCountMax: 9) }
        #expect(error?.kind == .clockSkewed)
        #expect(error.map { "\($0)".contains("clock says 20") } == true)
        #expect(server.requests.count <= 3)
    }

    /// Writes a file of credentials with this key, and a token that is named like it.
    private static func write(_ id: String, in folder: TemporaryFolder) {
        let lines =
            "[default]\naws_access_key_id=\(id)\naws_secret_access_key=s\naws_session_token=\(id)token\n"
        _ = try? folder.write("c", Array(lines.utf8))
    }

    private static func bucketOfFile(
        _ server: ScriptedServer, in folder: TemporaryFolder
    ) throws -> ObjectBucket {
        try ObjectStoreTests.bucket(
            server,
            environment: [
                "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
                "AWS_SHARED_CREDENTIALS_FILE": folder.path("c"),
            ])
    }

    @Test(
        "A key that is rotated in the file is taken over",
        arguments: ["ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"])
    func rotated(code: String) throws {
        let folder = TemporaryFolder()
        Self.write("old", in: folder)
        let server = try ScriptedServer { request in
            if request.headers["authorization"]?.contains("Credential=new/") == true {
                return [.stored]
            }
            Self.write("new", in: folder)
            return [.error(code == "ExpiredToken" ? 400 : 403, code)]
        }
        let bucket = try Self.bucketOfFile(server, in: folder)
        let client = try bucket.makeClient()
        let body: [UInt8] = [1]
        #expect(try client.create("a", body.span.bytes) == .created)
        #expect(
            server.requests.map { $0.headers["x-amz-security-token"] } == ["oldtoken", "newtoken"])
        #expect(
            server.requests.allSatisfy {
                $0.headers["authorization"]?.contains("x-amz-security-token") == true
            })
    }

    @Test("A key that stays expired is refused by name, and not asked with for ever")
    func expired() throws {
        for (code, expected) in [
            ("ExpiredToken", ObjectStoreError.Kind.expiredCredentials),
            ("InvalidAccessKeyId", .expiredCredentials), ("SignatureDoesNotMatch", .denied),
        ] {
            let scene = try Scene { _ in [.error(403, code)] }
            #expect(scene.kinds() == Array(repeating: expected, count: 4))
            #expect(scene.server.requests.count == 4)
        }
        // A file that changes each time does not keep it asking.
        let folder = TemporaryFolder()
        let server = try ScriptedServer { request in
            Self.write("k\(request.number)", in: folder)
            return [.error(400, "ExpiredToken")]
        }
        Self.write("k", in: folder)
        let bucket = try Self.bucketOfFile(server, in: folder)
        let client = try bucket.makeClient()
        #expect(
            kind(try client.delete("a")) == .expiredCredentials)
        #expect(server.requests.count == 3)
    }
}
