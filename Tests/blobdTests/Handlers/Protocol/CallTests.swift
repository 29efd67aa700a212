import BlobJSON
import BlobProtocol
import Bytes
import TestSupport
import Testing

/// HTTP's resources over the binary protocol.
@Suite struct CallTests {
    private static let json = "application/json"

    @Test("A notification is published, read, changed and deleted")
    func notification() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connectBinary()
        let target = "/v1/notifications/a%20b"
        let document = #"{"owner":"anna","message":"Hello"}"#
        let published = try client.exchange(
            callFrame(.put, target, device: "phone", mediaType: Self.json, body: document))
        #expect(published.status == 201)
        let head = try Call.Response.parse(published.head.span.bytes)
        let revision = head.revision
        let mediaType = head.mediaType.of(published.head.span.bytes).text()
        #expect(revision > 0 && mediaType == Self.json)
        #expect(jsonMember(published.text, "id") == "a b")
        #expect(jsonMember(published.text, "device") == "phone")

        let read = try client.exchange(callFrame(.get, target))
        #expect(read.status == 200 && read.body == published.body)
        #expect(read.body == (try daemon.request("GET", target)).body)

        let stale = try client.exchange(
            callFrame(
                .patch, target, mediaType: Self.json, condition: .revision(revision + 1),
                body: #"{"read":true}"#))
        #expect(stale.status == 412 && stale.code == "precondition_failed")
        #expect(jsonMember(stale.text, "revision") == "\(revision)")
        let changed = try client.exchange(
            callFrame(
                .patch, target, mediaType: Self.json, condition: .revision(revision),
                body: #"{"read":true}"#))
        #expect(changed.status == 200 && jsonMember(changed.text, "read") == "true")
        let again = try client.exchange(
            callFrame(
                .put, target, mediaType: Self.json, condition: .absent, body: document))
        #expect(again.status == 412)

        let gone = try client.exchange(callFrame(.delete, target, condition: .exists))
        #expect(gone.status == 204 && gone.body.isEmpty)
        #expect(try Call.Response.parse(gone.head.span.bytes).mediaType.isEmpty)
        #expect(try client.exchange(callFrame(.get, target)).code == "not_found")
    }

    @Test("What was made is located")
    func located() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connectBinary()
        let made = try client.exchange(
            callFrame(
                .post, "/v1/notifications", mediaType: Self.json, body: #"{"message":"m"}"#))
        #expect(made.status == 201)
        let head = try Call.Response.parse(made.head.span.bytes)
        let location = head.location.of(made.head.span.bytes).text()
        #expect(location == "/v1/notifications/0")
    }

    @Test("The list of all notifications and the counters are calls, and no operations")
    func listed() throws {
        let daemon = try DaemonProcess()
        for id in ["c", "a", "b%20%C3%A9"] { try daemon.put(id, [1]) }
        let client = try daemon.connectBinary()
        var ids: [String] = []
        var target = "/v1/notifications?limit=2"
        while true {
            let answer = try client.exchange(callFrame(.get, target))
            let page = try JSONValue.parse(answer.body.span.bytes)
            guard case .array(let records)? = page["notifications"] else {
                throw TestFailure("no page: \(answer.text)")
            }
            ids += records.compactMap { $0["id"]?.text }
            guard let next = page["next"]?.text else { break }
            #expect(next == "b é")
            target = "/v1/notifications?limit=2&after=b%20%C3%A9"
        }
        #expect(ids == ["a", "b é", "c"])
        let counters = try client.exchange(callFrame(.get, "/v1/stats"))
        #expect(counters.status == 200 && counters.text.contains("\"notifications\":3,"))
        for opcode: UInt8 in 6...9 {
            var bytes = try getFrame("a")
            bytes[1] = opcode
            #expect(try client.exchange(bytes).code == "method_not_allowed")
        }
    }

    @Test("What calls do not have is refused, and the connection goes on")
    func refused() throws {
        let daemon = try DaemonProcess()
        try daemon.put("1", [1])
        let client = try daemon.connectBinary()
        for (method, target, code) in [
            (Call.Method.get, "/v1/notifications/1/payload", "not_found"),
            (.put, "/v1/notifications/1/payload", "not_found"), (.get, "/metrics", "not_found"),
            (.get, "/healthz", "not_found"), (.get, "/", "not_found"),
            (.post, "/v1/stats", "method_not_allowed"),
            (.patch, "/v1/notifications", "method_not_allowed"),
            (.get, "/v1/notifications?limit=0", "bad_limit"),
            (.get, "/v1/notifications?limit=1001", "bad_limit"),
            (.get, "/v1/notifications?after=a%2Fb", "bad_id"),
            (.get, "/v1/notifications?before=a", "bad_query"),
            (.delete, "/v1/categories", "method_not_allowed"),
            (.get, "/v1/notifications/none", "not_found"),
            (.get, "/v1/users/anna/changes?since=x", "bad_cursor"),
            (.get, "/v1/users/anna/changes?limit=0", "bad_limit"),
            (.get, "/v1/users/anna/changes?wait=61", "bad_wait"),
            (.get, "/v1/users/anna/changes?what=1", "bad_query"),
        ] {
            // A body, where there should be none, is thrown away.
            for body in ["", "{}"] {
                let answer = try client.exchange(callFrame(method, target, body: body))
                #expect(answer.code == (body.isEmpty ? code : answer.code), "\(target)")
                #expect(answer.status >= 400 && answer.frame.headByteCount == 0)
            }
        }
        #expect(
            try client.exchange(callFrame(.get, "/v1/notifications/1", body: "x")).status == 400)
        #expect(try client.exchange(getFrame("1")).body == [1])
    }
}
