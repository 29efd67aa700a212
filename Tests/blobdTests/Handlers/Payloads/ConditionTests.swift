import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// Conditions over HTTP. They are judged in the transaction; that exactly one of several wins shows
/// the torture scenario `races`.
@Suite(.waiting) struct ConditionTests {
    private static func tag(_ bytes: [UInt8]) -> String {
        "\"sha256:\(PayloadDigestText.of(bytes))\""
    }

    @Test("Tags of every kind, of payloads and parts, for PUT and DELETE")
    func tags() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        let target = "/v1/notifications/a"
        let text = [UInt8](repeating: 65, count: 5_000)
        let (own, other) = (Self.tag(text), Self.tag([9]))
        let gzip = String(own.dropLast()) + "-gzip\""
        for path in ["\(target)/payload", "\(target)/parts/sound"] {
            _ = try client.request("DELETE", target)
            let made = try client.request(
                "PUT", path, ["Content-Type": "text/plain", "If-None-Match": "*"], body: text)
            #expect(made.status == 201)
            let revision = "\"\(try #require(made.member("revision")))\""
            for (field, value, status) in [
                ("If-Match", own, 200), ("If-Match", gzip, 200), ("If-Match", "*", 200),
                ("If-Match", "\"x\" , \(own)", 200), ("If-Match", "\(other), \(gzip)", 200),
                ("If-Match", "W/\(own)", 412), ("If-Match", other, 412), ("If-Match", "\"x\"", 412),
                ("If-Match", "", 412), ("If-Match", "\"9999\", \(own)", 200),
                ("If-Match", "\"9999\", \(other)", 412), ("If-None-Match", "*", 412),
                ("If-None-Match", own, 412), ("If-None-Match", gzip, 412),
                ("If-None-Match", "W/\(own)", 412), ("If-None-Match", "\"x\", W/\(gzip)", 412),
                ("If-None-Match", other, 200), ("If-None-Match", "\"x\"", 200),
                ("If-Match", "x", 400), ("If-None-Match", "x", 400),
                ("If-None-Match", "\(own) \(other)", 400),
            ] {
                let answer = try client.request(
                    "PUT", path, ["Content-Type": "text/plain", field: value], body: text)
                #expect(answer.status == status, "\(path), \(field): \(value)")
                guard status == 412 else { continue }
                // It says what is there.
                #expect(answer.code == "precondition_failed")
                #expect(answer.member("digest") == String(own.dropFirst().dropLast()))
                #expect(UInt64(answer.member("revision") ?? "") ?? 0 > 0)
            }
            // The revision names the notification, and it has changed.
            let stale = try client.request("PUT", path, ["If-Match": revision], body: text)
            #expect(stale.status == 412)
            let now = "\"\(try #require(stale.member("revision")))\""
            let known = try client.request(
                "PUT", path, ["Content-Type": "text/plain", "If-Match": "\(other), \(now)"],
                body: text)
            #expect(known.status == 200)
        }
        let missing = try client.request(
            "PUT", "\(target)/parts/none", ["If-Match": own], body: text)
        #expect(missing.status == 412 && missing.member("digest") == nil)
        #expect(missing.text.contains("no part none"))
        let nothing = try client.request(
            "PUT", "/v1/notifications/none/payload", ["If-Match": "*"], body: text)
        #expect(nothing.status == 412 && nothing.member("revision") == "null")
        // A notification's digest is its payload's; sound is none.
        _ = try client.request("PUT", "\(target)/payload", body: [9])
        for (field, value, status) in [
            ("If-Match", own, 412), ("If-Match", "\(own), \"9999\"", 412),
            ("If-None-Match", other, 412), ("If-None-Match", "*", 412), ("If-Match", "x", 400),
            ("If-Match", "\(other), \"9999\"", 204),
        ] {
            let answer = try client.request("DELETE", target, [field: value])
            #expect(answer.status == status, "DELETE, \(field): \(value)")
            if status == 412 {
                #expect("\"\(answer.member("digest") ?? "")\"" == other)
            }
        }
        #expect(try client.request("DELETE", target, ["If-Match": "*"]).status == 412)
        #expect(daemon.stop() == 0)
    }

    @Test("A condition that cannot hold is refused before the body is sent")
    func early() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        try client.put("a", [1])
        // Until it is committed the transaction decides, and the body is asked for.
        #expect(try client.request("GET", "/v1/notifications/a/payload").status == 200)
        client.send(
            "PUT /v1/notifications/a/payload HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\nIf-None-Match: *\r\nContent-Length: 5\r\n\r\n"
        )
        #expect(try client.answer().status == 412)
        #expect(try client.isClosed())
        #expect(daemon.stop() == 0)
    }

    @Test("The client is told the revision and the digest that are there")
    func client() throws {
        let daemon = try DaemonProcess()
        var connection = try BlobConnection.connect(to: daemon.socketPath)
        let receipt = try connection.put(PutRequest(id: "a"), [1].span.bytes)
        do throws(ClientError) {
            try connection.call(
                .delete(
                    "a", device: nil, condition: .revision(receipt.revision + 1)))
            Issue.record("deleted")
        } catch {
            guard case .preconditionFailed(let problem) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(problem.revision == receipt.revision)
            #expect(problem.digest == "\(receipt.digest)")
        }
        #expect(daemon.stop() == 0)
    }
}
