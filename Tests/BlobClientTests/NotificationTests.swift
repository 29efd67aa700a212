import BlobJSON
import BlobProtocol
import Bytes
import Notifications
import TestSupport
import Testing

@testable import BlobClient

/// What the calls for notifications send, and what they make of the answers.
@Suite struct NotificationTests {
    @Test func aTextGoesAsADocument() throws {
        var upload = NotificationUpload(id: "a b", owner: "ann", message: "Say \"hi\"")
        upload.app = "mail"
        upload.title = "Ann"
        upload.category = "invitation"
        upload.actions = [.init(identifier: "yes", title: "Yes", isForeground: true)]
        upload.priority = .low
        upload.displayTTLSeconds = 30
        upload.data = .object([JSONMember("n", .number(JSONNumber(1)))])
        upload.isRead = false
        upload.lifetime = .until(milliseconds: 1_796_083_200_000)
        let digest = Self.digest([1, 2, 3])
        upload.parts = [.init(name: "p", mediaType: "image/png", .stored(digest))]
        let called = try Self.call(answering: 201, Self.record) { connection in
            let receipt = try connection.call(.publish(upload, device: "phone", condition: .absent))
            #expect(receipt.isCreated)
            #expect(receipt.notification.id == "42")
        }
        #expect(called.method == .put)
        #expect(called.target == "/v1/notifications/a%20b")
        #expect(called.mediaType == "application/json")
        #expect(called.device == "phone")
        #expect(called.condition == .absent)
        #expect(
            called.body == """
                {"owner":"ann","app":"mail","title":"Ann","message":"Say \\"hi\\"","category":"invitation",\
                "actions":[{"identifier":"yes","title":"Yes","foreground":true}],"priority":"low",\
                "display_ttl":30,"data":{"n":1},"read":false,\
                "expires_at":"2026-12-01T00:00:00.000Z",\
                "parts":[{"name":"p","media_type":"image/png","digest":"\(digest)"}]}
                """)
    }

    @Test func bytesGoAsAForm() throws {
        var upload = NotificationUpload(owner: "ann")
        upload.parts = [
            .init(name: "a \"b\"", mediaType: "image/png", .bytes([1, 13, 10, 45, 45])),
            .init(name: "c", .stored(Self.digest([9]))),
        ]
        let called = try Self.call(answering: 201, Self.record) { connection in
            _ = try connection.call(.publish(upload))
        }
        #expect(called.method == .post)
        #expect(called.target == "/v1/notifications")
        let type = "multipart/form-data; boundary="
        #expect(called.mediaType.hasPrefix(type))
        let boundary = called.mediaType.dropFirst(type.count)
        #expect(boundary.count == 38)
        let document = """
            {"owner":"ann","parts":[{"name":"a \\"b\\"","media_type":"image/png"},\
            {"name":"c","digest":"\(Self.digest([9]))"}]}
            """
        #expect(
            called.body
                == "--\(boundary)\r\nContent-Disposition: form-data; name=\"notification\"\r\n"
                + "Content-Type: application/json\r\n\r\n\(document)\r\n"
                + "--\(boundary)\r\nContent-Disposition: form-data; name=\"a \\\"b\\\"\"\r\n"
                + "Content-Type: image/png\r\n\r\n\u{1}\r\n--\r\n--\(boundary)--\r\n")
    }

    @Test func aRecordIsReadWholeAndItsDataAsWritten() throws {
        let record = try NotificationRecord(
            document: Array(
                """
                {"id":"42","owner":"ann","app":"mail","title":"Ann","created_at":"a",
                "expires_at":"b","revision":7,"parts":[],"category":"c","actions":[{"identifier":"y","title":"Y","destructive":true}],
                "group":"g","priority":"low","display_ttl":30,"data":{"z":1e400,"a":[1.10,null]},
                "read":true,"action_state":"snoozed","device":"phone","new":{"x":[]},
                "responses":[{"action":"y","key":"k","at":"t","revision":6}]}
                """.utf8))
        #expect(record.revision == 7)
        #expect(record.app == "mail")
        #expect(record.title == "Ann")
        #expect(
            record.actions == [.init(identifier: "y", title: "Y", isDestructive: true)])
        #expect(record.priority == .low)
        #expect(record.displayTTLSeconds == 30)
        #expect(record.isRead == true)
        #expect(record.actionState == .snoozed)
        #expect(record.responses.map(\.key) == ["k"])
        var data: [UInt8] = []
        record.data?.append(to: &data)
        #expect(String(decoding: data, as: UTF8.self) == "{\"z\":1e400,\"a\":[1.10,null]}")
        #expect(record.message == nil)
    }

    @Test(arguments: [
        "", "[]", "{}", "{\"id\":42}", "{\"id\":\"42\",\"created_at\":\"a\"",
        """
        {"id":"42","created_at":"a","expires_at":"b","revision":-1,"parts":[]}
        """,
        """
        {"id":"42","created_at":"a","expires_at":"b","revision":1,"parts":[],"action_state":"gone"}
        """,
    ])
    func whatIsNoRecordIsAViolation(document: String) {
        let error = thrown { _ = try NotificationRecord(document: Array(document.utf8)) }
        #expect(error?.isProtocolViolation == true)
    }

    @Test func targetsAreEncodedOnce() throws {
        var targets: [String] = []
        func note(
            _ answer: String, _ body: @escaping (inout BlobConnection) throws -> Void
        ) throws {
            let called = try Self.call(answering: 200, answer, body)
            targets.append("\(called.method) \(called.target)")
        }
        let page = "{\"notifications\":[],\"next\":null,\"cursor\":\"c\"}"
        try note(page) { connection in
            let filter = NotificationFilter(
                isRead: true, actionState: .dismissed, group: "g&h")
            try connection.call(.history(of: "a/b é", before: "b", matching: filter))
        }
        try note("{\"changes\":[],\"next\":\"n\",\"more\":false}") { connection in
            let page = try connection.call(
                .changes(
                    of: "ann", since: "x", limit: 5, waitSeconds: 7,
                    matching: NotificationFilter(
                        app: "mail", isRead: false, actionState: .snoozed, group: "a b")))
            #expect(page.next == "n")
        }
        try note("{\"matched\":3,\"changed\":2}") { connection in
            let receipt = try connection.call(
                .patchGroup("g", of: "ann", PatchRequest(isRead: true)))
            #expect(receipt.matchedCount == 3 && receipt.changedCount == 2)
        }
        try note("{\"matched\":1,\"changed\":1}") { connection in
            try connection.call(
                .patchGroup("g", of: "ann", app: "mail", PatchRequest(isRead: true)))
        }
        for app in [nil, "a&b"] {
            try note("{\"deleted\":5}") { connection in
                let count = try connection.call(.deleteGroup("g", of: "ann", app: app))
                #expect(count == 5)
            }
        }
        try note("{\"deleted\":4}") { connection in
            let count = try connection.call(.deleteOwner("ann"))
            #expect(count == 4)
        }
        try note(
            #"{"media_type":"text/xml","headers":{"X-WNS-TTL":"30"},"body":"push"}"#
        ) { connection in
            let push = try connection.call(.envelope("42", .fcm, style: .alert))
            #expect(push.bytes == Array("push".utf8))
            #expect(push.mediaType == "text/xml")
            #expect(push["x-wns-ttl"] == "30" && push["X-WNS-Type"] == nil)
        }
        try note(#"{"media_type":"application/json","headers":{},"body":"push"}"#) { connection in
            _ = try connection.call(.envelope("42", .webpush, page: "https://a.example/b?c"))
        }
        try note("{\"name\":\"c\",\"actions\":[]}") { connection in
            let category = try connection.call(.category("c"))
            #expect(category.actions == [])
            #expect(category.revision == nil && category.options == [])
        }
        try note(
            #"{"name":"c","revision":7,"actions":[],"options":["allow_announcement","new"]}"#
        ) { connection in
            let receipt = try connection.call(
                .setCategory("c", [], options: [.allowAnnouncement], condition: .revision(3)))
            #expect(!receipt.isCreated)
            #expect(receipt.category.revision == 7)
            #expect(receipt.category.options == [.allowAnnouncement])
        }
        let digest = Self.digest([1])
        try note(
            """
            {"digest":"\(digest)","byte_count":1,"stored_byte_count":1,"coding":"identity",
            "held_until":"t"}
            """
        ) { connection in
            let receipt = try connection.call(.storeBlob([1], as: digest, ttlSeconds: 60))
            #expect(receipt.digest == digest)
        }
        #expect(
            targets == [
                "get /v1/users/a%2Fb%20%C3%A9/notifications?limit=100&before=b&read=true"
                    + "&action_state=dismissed&group=g%26h",
                "get /v1/users/ann/changes?since=x&limit=5&wait=7&app=mail&read=false"
                    + "&action_state=snoozed&group=a%20b",
                "patch /v1/users/ann/notifications?group=g",
                "patch /v1/users/ann/notifications?group=g&app=mail",
                "delete /v1/users/ann/notifications?group=g",
                "delete /v1/users/ann/notifications?group=g&app=a%26b", "delete /v1/users/ann",
                "get /v1/notifications/42/envelope?platform=fcm&style=alert&format=json",
                "get /v1/notifications/42/envelope?platform=webpush&format=json"
                    + "&navigate=https%3A%2F%2Fa.example%2Fb%3Fc",
                "get /v1/categories/c", "put /v1/categories/c", "put /v1/blobs/\(digest)?ttl=60",
            ])
    }

    @Test func aCategorysChangeIsReadLikeTheOthers() throws {
        let page = try ChangePage(
            document: Array(
                """
                {"changes":[{"cursor":"x","kind":"category","revision":9,"category":\
                {"name":"c","revision":7,"actions":[],"options":["custom_dismiss_action"]}},\
                {"cursor":"y","kind":"category","revision":10,"category":\
                {"name":"d","deleted":true}}],"next":"y","more":false}
                """.utf8))
        #expect(page.changes.map(\.kind) == [.category, .category])
        #expect(page.changes.map(\.id) == ["c", "d"])
        #expect(page.changes.map(\.revision) == [9, 10])
        #expect(page.changes[0].category?.options == [.customDismissAction])
        #expect(page.changes[1].category == nil && page.changes[1].notification == nil)
        #expect(
            thrown {
                _ = try ChangePage(
                    document: Array(
                        #"{"changes":[{"cursor":"x","kind":"category","revision":9}],"next":"x"}"#
                            .utf8))
            } != nil)
    }

    @Test func aContentExtensionsAnswerIsSentAndRead() throws {
        let called = try Self.call(answering: 201, Self.record) { connection in
            _ = try connection.call(
                .respond(
                    to: "42",
                    ResponseRequest(action: "yes", contentExtension: .doNotDismiss)))
        }
        #expect(
            called.body
                == #"{"action":"yes","dismissed":false,"extension":"do_not_dismiss"}"#)
    }

    @Test func patchesSayWhatIsKeptClearedAndSet() throws {
        var patch = PatchRequest(actionState: .dismissed)
        patch.message = .clear
        patch.group = .set("g")
        patch.actions = .set([])
        patch.data = .set(.null)
        let called = try Self.call(answering: 200, Self.record) { connection in
            _ = try connection.call(.patch("42", patch, condition: .revision(7)))
        }
        #expect(called.mediaType == "application/merge-patch+json")
        #expect(called.condition == .revision(7))
        #expect(
            called.body == """
                {"message":null,"actions":[],"group":"g","data":null,"action_state":"dismissed"}
                """)
    }

    @Test func aBatchIsAnsweredLineByLine() throws {
        let answer = """
            {"id":"1","status":201,"revision":5}
            {"status":400,"code":"bad_owner","detail":"too long"}

            """
        let called = try Self.call(answering: 200, answer) { connection in
            let results = try connection.call(
                .publishBatch([
                    NotificationUpload(id: "1", owner: "ann"), NotificationUpload(owner: "bob"),
                ]))
            #expect(results.map(\.status) == [201, 400])
            #expect(results.map(\.revision) == [5, nil])
            #expect(results.map(\.code) == [nil, "bad_owner"])
        }
        #expect(called.target == "/v1/notifications:batch")
        #expect(called.body == "{\"id\":\"1\",\"owner\":\"ann\"}\n{\"owner\":\"bob\"}\n")
    }

    @Test func namesThatWouldMakeAnotherTargetAreNotSent() throws {
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            try peer.answer(request.frame, 200)
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let patch = PatchRequest(isRead: true)
        var upload = NotificationUpload(id: "1")
        upload.parts = [.init(.bytes([1]))]
        for (code, call) in [
            (ErrorCode.badID, thrown { _ = try connection.call(.patch("", patch)) }),
            (.badID, thrown { _ = try connection.call(.patch("a/b", patch)) }),
            (.badOwner, thrown { _ = try connection.call(.deleteOwner("")) }),
            (.badCategory, thrown { _ = try connection.call(.category("")) }),
            (
                .badDevice,
                thrown {
                    _ = try connection.call(
                        .patch("1", patch, device: String(repeating: "x", count: 65)))
                }
            ),
            (.partMissing, thrown { _ = try connection.call(.publishBatch([upload])) }),
        ] {
            #expect(call?.invalidInput?.code == code)
        }
        try connection.ping()
        #expect(daemon.wait() == nil)
    }

    // MARK: Support

    private static let record =
        "{\"id\":\"42\",\"created_at\":\"a\",\"expires_at\":\"b\",\"revision\":1,\"parts\":[]}"

    private static func digest(_ bytes: [UInt8]) -> PayloadDigest {
        PayloadDigest(of: bytes.span.bytes)
    }

    /// A call as it came.
    private struct Called: Sendable {
        var method: CallMethod
        var target: String
        var device: String
        var mediaType: String
        var condition: CallCondition
        var body: String
    }

    /// Runs `body` against a daemon that takes one call, and returns that.
    private static func call(
        answering status: UInt16, _ answer: String,
        _ body: (inout BlobConnection) throws -> Void
    ) throws -> Called {
        let called = Kept<Called>()
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            let head = request.head
            let call = try Call.Request.parse(head.span.bytes, flags: request.frame.flags)
            called.value = Called(
                method: call.method, target: call.target.of(head.span.bytes).text(),
                device: call.device?.text ?? "", mediaType: call.mediaType?.text ?? "",
                condition: call.condition, body: String(decoding: request.body, as: UTF8.self))
            var answerHead: [UInt8] = []
            let type = Array("application/json".utf8)
            Call.Response.compose(
                revision: 1, mediaType: type.span.bytes, location: RawSpan(), into: &answerHead)
            try peer.answer(request.frame, status, head: answerHead, body: Array(answer.utf8))
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        try body(&connection)
        #expect(daemon.wait() == nil)
        return try #require(called.value)
    }
}
