import BlobClient
import BlobProtocol
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// Payloads end by themselves.
@Suite(.waiting) struct ExpiryTests {

    @Test("410 says when, in both dialects, and so does the client")
    func moment() throws {
        let daemon = try DaemonProcess(["--sweep-interval", "1h"])
        let put = try daemon.put("e", [1, 2], query: "?ttl=1&owner=ann")
        let expiresAt = try #require(put.member("expires_at"))
        _ = try daemon.request("PUT", "/v1/notifications/e/parts/p", body: [1])
        let http = try daemon.connect()
        let patience = Patience()
        while try http.request("GET", "/v1/notifications/e").status == 200 {
            try patience.wait(orThrow: "it does not expire")
        }
        let digest = PayloadDigestText.of([1, 2])
        for path in [
            "/v1/notifications/e", "/v1/notifications/e/payload", "/v1/notifications/e/parts/p",
            "/api/notifications/e", "/v1/notifications/e/envelope?platform=apns",
            "/v1/blobs/sha256:\(digest)",
        ] {
            let answer = try http.request("GET", path)
            #expect(answer.status == 410 && answer.code == "expired", "\(path)")
            #expect(answer.member("expired_at") == expiresAt, "\(path): \(answer.text)")
            #expect(try http.request("HEAD", path).status == 410)
        }
        let binary = try daemon.connectBinary()
        for bytes in [try getFrame("e"), try callFrame(.get, "/v1/notifications/e")] {
            let answer = try binary.exchange(bytes)
            #expect(answer.status == 410 && jsonMember(answer.text, "expired_at") == expiresAt)
        }
        var connection = try BlobConnection.connect(to: daemon.socketPath)
        do throws(ClientError) {
            _ = try connection.get("e")
            Issue.record("it is there")
        } catch {
            guard case .expired(let problem) = error else { throw error }
            #expect(problem.expiredAt == expiresAt)
            #expect("\(error)".contains("expired at \(expiresAt)"))
        }
    }

    @Test("The sweeper removes what has expired and frees its bytes")
    func swept() throws {
        let daemon = try DaemonProcess(["--sweep-interval", "50ms"])
        for id in ["a", "b", "c"] {
            try daemon.put(id, .init(repeating: 9, count: 100_000), query: "?ttl=1")
        }
        try daemon.put("d", [1])
        try daemon.waitUntil("expired") { $0 == 3 }
        #expect(try daemon.request("GET", "/v1/notifications/a/payload").status == 404)
        #expect(try daemon.request("GET", "/v1/notifications/d/payload").status == 200)
        #expect(try daemon.statistic("notifications") == 1)
        try daemon.waitUntil("orphan_blobs") { $0 == 0 }
        #expect(try daemon.statistic("bytes") == 1)
    }
}
