import BlobClient
import BlobProtocol
import Bytes
import TestSupport
import Testing

/// A new picture wiped the notification: after `curl -T sticker.png …/payload` its message and rich
/// type were gone, and it expired in 30 days instead of in the hour that was said.
@Suite(.waiting) struct RepublishTests {
    /// How a payload comes to the daemon.
    enum Way: String, CaseIterable { case http, binary, client, command }

    private static let document =
        #"{"owner":"ann","message":"Look","rich_type":"img","group":"g","ttl":3600,"read":true}"#

    /// Replaces or adds a part, and says nothing else of the notification.
    private func put(_ id: String, part: String, _ way: Way, _ daemon: DaemonProcess) throws {
        let body: [UInt8] = [1, 2, 3]
        switch way {
        case .http:
            let path = part == "payload" ? "/payload" : "/parts/\(part)"
            let answer = try daemon.request("PUT", "/v1/notifications/\(id)\(path)", body: body)
            #expect(answer.status < 300)
        case .binary:
            var draft = Put.Draft(id: id)
            draft.part = Array(part.utf8)
            let answer = try daemon.connectBinary().exchange(try putFrame(draft, body: body))
            #expect(answer.status < 300)
        case .client:
            var connection = try BlobConnection.connect(to: daemon.socketPath)
            _ = try connection.put(PutRequest(id: id, part: part), body.span.bytes)
        case .command:
            let result = try blobd(
                ["put", id, "-", "--part", part], socket: daemon.socketPath, input: body)
            #expect(result.status == 0, "\(result.errors)")
        }
    }

    @Test("What a raw put does not say stays as it is", arguments: Way.allCases)
    func kept(way: Way) throws {
        let daemon = try DaemonProcess()
        for part in ["payload", "sound"] {
            let target = "/v1/notifications/\(part)"
            let first = try daemon.request(
                "PUT", target, ["Content-Type": "application/json"],
                body: Array(Self.document.utf8))
            #expect(first.status == 201)
            for _ in 0..<2 {
                try put(part, part: part, way, daemon)
                let record = try daemon.request("GET", target)
                for name in [
                    "owner", "message", "rich_type", "group", "read", "created_at", "expires_at",
                ] {
                    #expect(record.member(name) == first.member(name), "\(part): \(name)")
                }
                #expect(record.member("name") == part)
            }
            // One that was deleted is new: nothing of it comes back.
            #expect(try daemon.request("DELETE", target).status == 204)
            try put(part, part: part, way, daemon)
            let record = try daemon.request("GET", target)
            #expect(record.member("message") == nil && record.member("owner") == nil)
            #expect(try life(record) == 30 * 86_400_000)
        }
        #expect(daemon.stop() == 0)
    }

    /// `expires_at − created_at`, in milliseconds.
    private func life(_ record: HTTPAnswer) throws -> Int64 {
        func moment(_ name: String) throws -> Int64 {
            let text = Array(try #require(record.member(name)).utf8)
            return try RFC3339.parse(text.span.bytes)
        }
        return try moment("expires_at") - moment("created_at")
    }

    /// Two readings of the clock: one when the body was complete, one in the transaction. In 19 of
    /// 300 publishes with `ttl=60` the end was 59,999 ms behind the beginning.
    @Test("A notification with a ttl lives exactly so long, whichever way it comes")
    func exactly() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        let binary = try daemon.connectBinary()
        let json = ["Content-Type": "application/json"]
        for round in 0..<20 {
            var ids: [String] = []
            func put(
                _ way: String, _ target: String, _ fields: [String: String], _ body: [UInt8],
                method: String = "PUT"
            ) throws {
                let answer = try client.request(
                    method, target.replacing("ID", with: "\(way)-\(round)"), fields, body: body)
                #expect(answer.status < 300, "\(way): \(answer.text)")
                ids.append("\(way)-\(round)")
            }
            let document = Array(#"{"ttl":60,"message":"Hi"}"#.utf8)
            let large = [UInt8](repeating: UInt8(round), count: 20_000)
            try put("raw", "/v1/notifications/ID/payload?ttl=60", [:], [1])
            try put(
                "gzip", "/v1/notifications/ID/payload?ttl=60", ["Content-Type": "text/plain"], large
            )
            try put("part", "/v1/notifications/ID/parts/icon?ttl=60", [:], [1])
            try put("document", "/v1/notifications/ID", json, document)
            try put(
                "multipart", "/v1/notifications/ID", ["Content-Type": multipartType],
                multipartBody(#"{"ttl":60}"#, files: [("payload", "text/plain", large)]))
            try put(
                "line", "/v1/notifications:batch", ["Content-Type": "application/x-ndjson"],
                Array(#"{"id":"line-\#(round)","ttl":60,"message":"Hi"}"#.utf8), method: "POST")
            let frame = try putFrame(Put.Draft(id: "binary-\(round)", ttlSeconds: 60), body: [1])
            #expect(try binary.exchange(frame).status == 201)
            ids.append("binary-\(round)")
            for id in ids {
                let record = try client.request("GET", "/v1/notifications/\(id)")
                #expect(try life(record) == 60_000, "\(id)")
            }
        }
        #expect(daemon.stop() == 0)
    }
}
