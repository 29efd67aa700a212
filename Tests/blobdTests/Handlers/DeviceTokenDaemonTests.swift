import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Devices that act with a token, over the socket that is theirs.
@Suite(.waiting) struct DeviceTokenDaemonTests {
    private static let keys = "new \(String(repeating: "AB", count: 22))\n"
    private static let patchType = ["Content-Type": "application/merge-patch+json"]
    private static let documentType = ["Content-Type": "application/json"]

    /// A daemon with keys and a device socket.
    private struct Site {
        let folder = TemporaryFolder()
        let daemon: DaemonProcess

        init(_ arguments: String...) throws {
            try Files.write(Array(keys.utf8), to: "\(folder)/keys")
            chmod("\(folder)/keys", 0o600)
            daemon = try DaemonProcess(
                ["--signing-keys", "\(folder)/keys", "--device-socket", "\(folder)/device"]
                    + arguments, in: folder)
            let document =
                #"{"owner":"ann","app":"mail","message":"Hello","actions":[{"identifier":"yes","title":"Yes"}]}"#
            for (id, text) in [
                ("1", document), ("2", #"{"owner":"ann","app":"chat","message":"Hi"}"#),
                ("3", #"{"owner":"bob","message":"Other"}"#), ("4", #"{"message":"Nobody's"}"#),
            ] {
                #expect(
                    try daemon.request(
                        "PUT", "/v1/notifications/\(id)", documentType, body: Array(text.utf8)
                    ).status == 201)
            }
            #expect(
                try daemon.request("PUT", "/v1/notifications/1/payload", body: [1, 2, 3]).status
                    == 201)
        }

        /// A device with a token that `blobd token` makes.
        func device(_ owner: String, _ arguments: String...) throws -> Device {
            let made = try blobd(
                ["token", owner, "--signing-keys", "\(folder)/keys"] + arguments)
            #expect(made.status == 0, "\(made.errors)")
            return try self.device(token: String(made.text.dropLast()))
        }

        func device(token: String) throws -> Device {
            Device(client: try RawClient("\(folder)/device"), token: token)
        }
    }

    private struct Device {
        let client: RawClient
        let token: String

        func request(
            _ method: String, _ path: String, _ fields: [String: String] = [:], body: String? = nil
        ) throws -> HTTPAnswer {
            try client.request(
                method, "/d/me/\(path)",
                fields.merging(["Authorization": "Bearer \(token)"]) { $1 },
                body: body.map { Array($0.utf8) })
        }
    }

    @Test("A device reads its owner's notifications, and nobody else's")
    func reading() throws {
        let site = try Site()
        let phone = try site.device("ann")
        let history = try phone.request("GET", "notifications")
        #expect(history.status == 200)
        #expect(history.text.contains(#""id":"1""#) && history.text.contains(#""id":"2""#))
        #expect(!history.text.contains("bob") && !history.text.contains(#""id":"4""#))
        #expect(try phone.request("GET", "notifications/1").text.contains(#""owner":"ann""#))
        let payload = try phone.request("GET", "notifications/1/payload", ["Range": "bytes=1-"])
        #expect(payload.status == 206 && payload.body == [2, 3])
        #expect(try phone.request("HEAD", "notifications/1/payload").status == 200)
        let page = try phone.request("GET", "changes?since=0")
        #expect(page.status == 200 && page.text.contains(#""id":"2""#))
        // What is another's is as if there were none.
        for path in ["", "/payload", "/parts/sound"] {
            var bodies: Set<[UInt8]> = []
            for id in ["3", "4", "5"] {
                let answer = try phone.request("GET", "notifications/\(id)\(path)")
                #expect(answer.status == 404, "\(id)\(path)")
                bodies.insert(answer.body)
            }
            #expect(bodies.count == 1)
        }
        // Another's cursor is refused, as it is for backends.
        let cursor = try #require(
            try site.daemon.request("GET", "/v1/users/bob/changes?since=0").member("next"))
        #expect(try phone.request("GET", "changes?since=\(cursor)").code == "bad_cursor")
        #expect(try phone.request("GET", "notifications?owner=bob").code == "bad_query")
    }

    @Test("With an app only that app's notifications exist")
    func app() throws {
        let site = try Site()
        let phone = try site.device("ann", "--app", "chat", "--scope", "write")
        let history = try phone.request("GET", "notifications")
        #expect(history.text.contains(#""id":"2""#) && !history.text.contains(#""id":"1""#))
        #expect(try !phone.request("GET", "changes?since=0").text.contains(#""id":"1""#))
        #expect(try phone.request("GET", "notifications?app=mail").code == "bad_query")
        #expect(try phone.request("GET", "notifications/1").status == 404)
        #expect(
            try phone.request(
                "PATCH", "notifications/1", Self.patchType, body: #"{"read":true}"#
            ).status == 404)
        #expect(
            try phone.request(
                "PATCH", "notifications/2", Self.patchType, body: #"{"read":true}"#
            ).status == 200)
    }

    @Test("A device marks and responds in its own name, and changes nothing else")
    func writing() throws {
        let site = try Site()
        let phone = try site.device("ann", "--scope", "write", "--device", "phone")
        let read = try phone.request(
            "PATCH", "notifications/1",
            Self.patchType.merging(["Blobd-Device": "somebody"]) { $1 }, body: #"{"read":true}"#)
        #expect(read.status == 200 && read.text.contains(#""device":"phone""#), "\(read.text)")
        let tag = try #require(read["ETag"])
        #expect(
            try phone.request(
                "PATCH", "notifications/1", Self.patchType.merging(["If-Match": "\"1\""]) { $1 },
                body: #"{"action_state":"dismissed"}"#
            ).status == 412)
        #expect(
            try phone.request(
                "PATCH", "notifications/1", Self.patchType.merging(["If-Match": tag]) { $1 },
                body: #"{"action_state":"dismissed"}"#
            ).status == 200)
        let answer = try phone.request(
            "POST", "notifications/1/responses", Self.documentType, body: #"{"action":"yes"}"#)
        #expect(answer.status == 201 && answer.text.contains(#""action":"yes""#))
        for member in ["message", "title", "expires_at", "group", "data", "priority", "platforms"] {
            let refused = try phone.request(
                "PATCH", "notifications/1", Self.patchType, body: #"{"\#(member)":null}"#)
            #expect(refused.status == 400, "\(member): \(refused.text)")
        }
        for id in ["3", "4", "5"] {
            #expect(
                try phone.request(
                    "PATCH", "notifications/\(id)", Self.patchType, body: #"{"read":true}"#
                ).status == 404)
            #expect(
                try phone.request(
                    "POST", "notifications/\(id)/responses", Self.documentType,
                    body: #"{"action":"dismiss"}"#
                ).status == 404)
        }
        #expect(try !site.daemon.request("GET", "/v1/notifications/3").text.contains("dismissed"))
        let long = #"{"action":"yes","key":"\#(String(repeating: "k", count: 4_096))"}"#
        #expect(
            try site.device("ann", "--scope", "write").request(
                "POST", "notifications/1/responses", Self.documentType, body: long
            ).status == 413)
        for method in ["PUT", "DELETE"] {
            #expect(
                try site.device("ann", "--scope", "write").request(
                    method, "notifications/1", Self.documentType, body: "{}"
                ).status == 405)
        }
    }

    @Test("A device reads the category of a notification, its app's or else that of all apps")
    func category() throws {
        let site = try Site()
        func set(_ path: String, _ document: String) throws {
            let answer = try site.daemon.request(
                "PUT", "/v1/\(path)", Self.documentType, body: Array(document.utf8))
            #expect(answer.status == 200 || answer.status == 201, "\(answer.text)")
        }
        try set("categories/c", #"{"actions":[{"identifier":"all","title":"All"}]}"#)
        for (id, owner, app) in [("1", "ann", "mail"), ("2", "ann", "chat"), ("3", "bob", "mail")] {
            let document =
                #"{"owner":"\#(owner)","app":"\#(app)","message":"Hi","category":"c"}"#
            try set("notifications/\(id)", document)
        }
        try set("notifications/6", #"{"owner":"ann","app":"mail","message":"Hi"}"#)
        let phone = try site.device("ann", "--app", "mail")
        let ofAll = try phone.request("GET", "notifications/1/category")
        #expect(ofAll.status == 200 && ofAll.text.contains(#""identifier":"all""#))
        try set("categories/c?app=mail", #"{"actions":[{"identifier":"mail","title":"Mail"}]}"#)
        try set("categories/c?app=chat", #"{"actions":[{"identifier":"chat","title":"Chat"}]}"#)
        let own = try phone.request("GET", "notifications/1/category")
        #expect(own.text.contains(#""identifier":"mail""#) && own["ETag"] != ofAll["ETag"])
        let tag = ["If-None-Match": try #require(own["ETag"])]
        #expect(try phone.request("GET", "notifications/1/category", tag).status == 304)
        #expect(try phone.request("HEAD", "notifications/1/category").status == 200)
        // Another app's, another owner's, and one that does not exist.
        let bodies = try Set(
            ["2", "3", "5"].map { try phone.request("GET", "notifications/\($0)/category").body })
        #expect(bodies.count == 1)
        #expect(try phone.request("GET", "notifications/2/category").status == 404)
        let none = try phone.request("GET", "notifications/6/category")
        #expect(none.status == 404 && none.text.contains("category"))
        for path in ["c", "c?app=mail"] {
            #expect(try site.daemon.request("DELETE", "/v1/categories/\(path)").status == 204)
        }
        #expect(try phone.request("GET", "notifications/1/category").body == none.body)
        for path in ["categories", "categories/c", "notifications/1/categories"] {
            #expect(try phone.request("GET", path).status == 404, "\(path)")
        }
        #expect(try phone.request("PUT", "notifications/1/category", body: "{}").status == 405)
    }

    @Test("A notification that moves to another owner is not the first one's to change")
    func moved() throws {
        let site = try Site()
        let phone = try site.device("ann", "--scope", "write")
        #expect(
            try site.daemon.request(
                "PUT", "/v1/notifications/1", Self.documentType,
                body: Array(#"{"owner":"bob","message":"Moved"}"#.utf8)
            ).status == 200)
        #expect(
            try phone.request(
                "PATCH", "notifications/1", Self.patchType, body: #"{"read":true}"#
            ).status == 404)
        #expect(try phone.request("GET", "notifications/1").status == 404)
        #expect(try site.device("bob").request("GET", "notifications/1").status == 200)
    }

    @Test("Whatever is wrong with a token, the answer is the same, and a small scope is told")
    func refused() throws {
        let site = try Site()
        let right = try site.device("ann").token
        let keys = try SigningKeys(parsing: Array(Self.keys.utf8))
        let past = try DeviceToken(owner: "ann", expiresAt: 1_000).text(keys: keys)
        var bodies: Set<[UInt8]> = []
        let client = try RawClient("\(site.folder)/device")
        let fields = [
            nil, "", "Bearer", "Bearer ", "Bearer x", "Basic \(right)", right, "Bearer \(right)x",
            "Bearer \(past)", "Bearer \(right.dropLast(1))", "Bearer \(right) \(right)",
        ]
        for field in fields {
            for path in ["notifications", "notifications/1/payload", "changes?since=0"] {
                let answer = try client.request(
                    "GET", "/d/me/\(path)", field.map { ["Authorization": $0] } ?? [:])
                #expect(
                    answer.status == 401 && answer["WWW-Authenticate"] == "Bearer", "\(field ?? "")"
                )
                bodies.insert(answer.body)
            }
        }
        #expect(bodies.count == 1)
        let small = try site.device("ann").request(
            "PATCH", "notifications/1", Self.patchType, body: #"{"read":true}"#)
        #expect(small.status == 403 && small.code == "insufficient_scope")
        #expect(
            try site.daemon.request(
                "GET", "/d/me/notifications", ["Authorization": "bearer \(right)"]
            ).status == 200)
        // Without keys no token is valid, and links and tokens are not mixed up.
        let other = try DaemonProcess()
        #expect(
            try other.request("GET", "/d/me/notifications", ["Authorization": "Bearer \(right)"])
                .status == 401)
        #expect(
            try client.request("GET", "/d/1", ["Authorization": "Bearer \(right)"]).status == 403)
    }

    @Test("A stream and a wait end with their token")
    func expiry() throws {
        let site = try Site("--heartbeat", "1h")
        let keys = try SigningKeys(parsing: Array(Self.keys.utf8))
        let stream = try RawClient("\(site.folder)/device")
        let wait = try RawClient("\(site.folder)/device")
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
        try site.daemon.waitUntil("watchers") { $0 == 0 }
    }
}
