import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Devices that act with a token, over the socket that is theirs.
@Suite(.waiting) struct DeviceTokenDaemonTests {
    /// Four notifications: two of ann's, one of each of her apps, bob's, and one of nobody. What is another's is as if there were
    /// none.
    private static let lines = #"""
        daemon: devices
        dialects: http
        PUT /v1/notifications/1  {"owner":"ann","app":"mail","message":"Hello","actions":[{"identifier":"yes","title":"Yes"}]}  → 201
        PUT /v1/notifications/2  {"owner":"ann","app":"chat","message":"Hi"}  → 201
        PUT /v1/notifications/3  {"owner":"bob","message":"Other"}  → 201
        PUT /v1/notifications/4  {"message":"Nobody's"}  → 201
        PUT /v1/notifications/1/payload  123  → 201
        @token ann {"sub":"ann","exp":now+3600}
        @token bob {"sub":"bob","exp":now+3600}
        @token past {"sub":"ann","exp":1000}
        @token chat {"sub":"ann","app":"chat","scope":"write","exp":now+3600}
        @token mail {"sub":"ann","app":"mail","exp":now+3600}
        @token phone {"sub":"ann","device":"phone","scope":"write","exp":now+3600}

        # A device reads its owner's notifications, and nobody else's.
        [device] GET /d/me/notifications  Authorization: Bearer $ann  → 200  ~"id":"1"  ~"id":"2"  !bob  !"id":"4"
        [device] GET /d/me/notifications/1  Authorization: Bearer $ann  → 200  owner=ann
        [device] GET /d/me/notifications/1/payload  Authorization: Bearer $ann  Range: bytes=1-  → 206  =23
        [device] HEAD /d/me/notifications/1/payload  Authorization: Bearer $ann  → 200
        [device] GET /d/me/changes?since=0  Authorization: Bearer $ann  → 200  ~"id":"2"
        [device] GET /d/me/notifications/5  Authorization: Bearer $ann  → 404 not_found  detail>none
        [device] GET /d/me/notifications/3  Authorization: Bearer $ann  → 404 not_found  detail=$none
        [device] GET /d/me/notifications/4  Authorization: Bearer $ann  → 404 not_found  detail=$none
        [device] GET /d/me/notifications/5/payload  Authorization: Bearer $ann  → 404 not_found  detail>none
        [device] GET /d/me/notifications/3/payload  Authorization: Bearer $ann  → 404 not_found  detail=$none
        [device] GET /d/me/notifications/4/payload  Authorization: Bearer $ann  → 404 not_found  detail=$none
        [device] GET /d/me/notifications/5/parts/sound  Authorization: Bearer $ann  → 404 not_found  detail>none
        [device] GET /d/me/notifications/3/parts/sound  Authorization: Bearer $ann  → 404 not_found  detail=$none
        [device] GET /d/me/notifications/4/parts/sound  Authorization: Bearer $ann  → 404 not_found  detail=$none
        # Another's cursor is refused, as it is for backends.
        GET /v1/users/bob/changes?since=0  → 200  next>cursor
        [device] GET /d/me/changes?since=$cursor  Authorization: Bearer $ann  → 400 bad_cursor
        [device] GET /d/me/notifications?owner=bob  Authorization: Bearer $ann  → 400 bad_query

        # With an app only that app's notifications exist.
        PUT /v1/notifications/7  {"owner":"ann","message":"Of no app"}  → 201
        [device] GET /d/me/notifications  Authorization: Bearer $chat  → 200  ids: 2
        [device] GET /d/me/changes?since=0  Authorization: Bearer $chat  → 200  !"id":"1"
        [device] GET /d/me/notifications?app=mail  Authorization: Bearer $chat  → 400 bad_query
        [device] GET /d/me/notifications/1  Authorization: Bearer $chat  → 404 not_found
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $chat  {"read":true}  → 404 not_found
        [device] PATCH /d/me/notifications/7  Authorization: Bearer $chat  {"read":true}  → 404 not_found
        [device] PATCH /d/me/notifications/2  Authorization: Bearer $chat  Content-Type: application/merge-patch+json  {"read":true}  → 200

        # A device marks and responds in its own name, and changes nothing else.
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  Blobd-Device: somebody  {"read":true}  → 200  device=phone  ETag:>tag
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  If-Match: "1"  {"action_state":"dismissed"}  → 412 precondition_failed
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  If-Match: $tag  {"action_state":"dismissed"}  → 200
        [device] POST /d/me/notifications/1/responses  Authorization: Bearer $phone  {"action":"yes"}  → 201  action=yes
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  {"message":null}  → 400 immutable_member
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  {"title":null}  → 400 immutable_member
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  {"expires_at":null}  → 400 bad_expiry
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  {"group":null}  → 400 immutable_member
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  {"data":null}  → 400 immutable_member
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  {"priority":null}  → 400 immutable_member
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  {"platforms":null}  → 400 immutable_member
        [device] PATCH /d/me/notifications/3  Authorization: Bearer $phone  {"read":true}  → 404 not_found
        [device] PATCH /d/me/notifications/4  Authorization: Bearer $phone  {"read":true}  → 404 not_found
        [device] PATCH /d/me/notifications/5  Authorization: Bearer $phone  {"read":true}  → 404 not_found
        [device] POST /d/me/notifications/3/responses  Authorization: Bearer $phone  {"action":"dismiss"}  → 404 not_found
        [device] POST /d/me/notifications/4/responses  Authorization: Bearer $phone  {"action":"dismiss"}  → 404 not_found
        [device] POST /d/me/notifications/5/responses  Authorization: Bearer $phone  {"action":"dismiss"}  → 404 not_found
        [device] POST /d/me/notifications/1/responses  Authorization: Bearer $phone  {"action":"yes","key":"‹k*4096›"}  → 413 payload_too_large
        [device] PUT /d/me/notifications/1  Authorization: Bearer $phone  {}  → 405 method_not_allowed

        # It reads the category of a notification, its app's or else that of all apps.
        PUT /v1/categories/c  {"actions":[{"identifier":"all","title":"All"}]}  → 201
        PUT /v1/notifications/1  {"owner":"ann","app":"mail","message":"Hi","category":"c"}  → 200
        PUT /v1/notifications/2  {"owner":"ann","app":"chat","message":"Hi","category":"c"}  → 200
        PUT /v1/notifications/3  {"owner":"bob","app":"mail","message":"Hi","category":"c"}  → 200
        PUT /v1/notifications/6  {"owner":"ann","app":"mail","message":"Hi"}  → 201
        [device] GET /d/me/notifications/1/category  Authorization: Bearer $mail  → 200  ~"identifier":"all"  ETag:>all
        PUT /v1/categories/c?app=mail  {"actions":[{"identifier":"mail","title":"Mail"}]}  → 201
        PUT /v1/categories/c?app=chat  {"actions":[{"identifier":"chat","title":"Chat"}]}  → 201
        [device] GET /d/me/notifications/1/category  Authorization: Bearer $mail  If-None-Match: $all  → 200  ~"identifier":"mail"  ETag:>own
        [device] GET /d/me/notifications/1/category  Authorization: Bearer $mail  If-None-Match: $own  → 304
        [device] HEAD /d/me/notifications/1/category  Authorization: Bearer $mail  → 200
        [device] GET /d/me/notifications/5/category  Authorization: Bearer $mail  → 404 not_found  detail>none
        [device] GET /d/me/notifications/2/category  Authorization: Bearer $mail  → 404 not_found  detail=$none
        [device] GET /d/me/notifications/3/category  Authorization: Bearer $mail  → 404 not_found  detail=$none
        [device] GET /d/me/notifications/6/category  Authorization: Bearer $mail  → 404 not_found  detail>none  ~category
        DELETE /v1/categories/c  → 204
        DELETE /v1/categories/c?app=mail  → 204
        [device] GET /d/me/notifications/1/category  Authorization: Bearer $mail  → 404 not_found  detail=$none
        [device] GET /d/me/categories  Authorization: Bearer $mail  → 404 not_found
        [device] GET /d/me/categories/c  Authorization: Bearer $mail  → 404 not_found
        [device] GET /d/me/notifications/1/categories  Authorization: Bearer $mail  → 404 not_found
        [device] PUT /d/me/notifications/1/category  Authorization: Bearer $mail  {}  → 405 method_not_allowed

        # A notification that moves to another owner is not the first one's to change.
        PUT /v1/notifications/1  {"owner":"bob","message":"Moved"}  → 200
        [device] PATCH /d/me/notifications/1  Authorization: Bearer $phone  {"read":true}  → 404 not_found
        [device] GET /d/me/notifications/1  Authorization: Bearer $ann  → 404 not_found
        [device] GET /d/me/notifications/1  Authorization: Bearer $bob  → 200

        # Links and tokens are not mixed up. The scheme is read without regard to case.
        [device] GET /d/2  Authorization: Bearer $ann  → 403 forbidden
        GET /d/me/notifications  Authorization: bearer $ann  → 200
        """#

    /// Whatever is wrong with a token, the answer is the same.
    private static let refused = [
        "", "Authorization:", "Authorization: Bearer", "Authorization: Bearer x",
        "Authorization: Basic $ann", "Authorization: $ann", "Authorization: Bearer $annx",
        "Authorization: Bearer $past", "Authorization: Bearer $ann $ann",
    ].flatMap { field in
        ["notifications", "notifications/2/payload", "changes?since=0"].map {
            #"[device] GET /d/me/\#($0)  \#(field)  → 401 bad_token  WWW-Authenticate: Bearer  detail=the token is missing or not valid"#
        }
    }

    @Test("A device has its owner's and its app's notifications, and nothing else")
    func exchanges() throws {
        let lines = [Self.lines] + Self.refused
        let table = ExchangeTable(name: "tokens", text: lines.joined(separator: "\n"))
        let lineCount = try table.run { Issue.record("\($0)") }
        #expect(lineCount > lines.count)
    }

    private static let keys = "new \(String(repeating: "AB", count: 22))\n"

    /// A folder with a daemon's keys, and the daemon's flags.
    private func flags(in folder: TemporaryFolder) throws -> [String] {
        let path = try folder.write("keys", Array(Self.keys.utf8))
        chmod(path, 0o600)
        return ["--signing-keys", path, "--device-socket", "\(folder)/device"]
    }

    @Test("A token of blobd token has what its flags say; without keys it is not valid")
    func command() throws {
        let folder = TemporaryFolder()
        let daemon = try DaemonProcess(try flags(in: folder), in: folder)
        for app in ["mail", "chat"] {
            #expect(try daemon.put(app, [1], query: "?owner=ann&app=\(app)").status == 201)
        }
        let made = try blobd([
            "token", "ann", "--signing-keys", "\(folder)/keys", "--app", "chat", "--scope", "write",
            "--device", "phone",
        ])
        #expect(made.status == 0, "\(made.errors)")
        let fields = ["Authorization": "Bearer \(made.text.dropLast())"]
        let device = try RawClient("\(folder)/device")
        #expect(try device.request("GET", "/d/me/notifications/mail", fields).status == 404)
        let read = try device.request(
            "PATCH", "/d/me/notifications/chat", fields, body: Array(#"{"read":true}"#.utf8))
        #expect(read.status == 200 && read.member("device") == "phone", "\(read.text)")
        let other = try DaemonProcess()
        #expect(try other.request("GET", "/d/me/notifications", fields).status == 401)
    }

    @Test("A stream and a wait end with their token")
    func expiry() throws {
        let folder = TemporaryFolder()
        let daemon = try DaemonProcess(try flags(in: folder) + ["--heartbeat", "1h"], in: folder)
        let keys = try SigningKeys(parsing: Array(Self.keys.utf8))
        let stream = try RawClient("\(folder)/device")
        let wait = try RawClient("\(folder)/device")
        // On a busy machine a token may be over before it is used: a longer one is tried.
        var seconds: Int64 = 4
        while true {
            let end = Int64(time(nil)) + seconds
            let token = try DeviceToken(owner: "ann", expiresAt: end).text(keys: keys)
            let fields = ["Authorization": "Bearer \(token)"]
            wait.sendRequest("GET", "/d/me/changes?since=latest&wait=60", fields)
            stream.sendRequest(
                "GET", "/d/me/changes?since=latest",
                fields.merging(["Accept": "text/event-stream"]) { $1 })
            if try stream.answer().status == 200 { break }
            #expect(try wait.answer().code == "bad_token")
            seconds *= 2
            try #require(seconds < 100, "no token is valid")
        }
        #expect(try wait.answer().code == "bad_token")
        let end = String(decoding: try stream.receiveAll(), as: UTF8.self)
        #expect(end.contains("event: problem") && end.contains(#""code":"bad_token""#), "\(end)")
        try daemon.waitUntil("watchers") { $0 == 0 }
    }
}
