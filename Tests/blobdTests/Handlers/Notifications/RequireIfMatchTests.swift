import BlobClient
import BlobProtocol
import TestSupport
import Testing

/// `blobd serve --require-if-match`: nobody patches what they have not seen (RFC 6585, section 3).
@Suite(.waiting) struct RequireIfMatchTests {
    private static let json = ["Content-Type": "application/json"]

    @Test("A patch of a notification without If-Match is 428", arguments: TestDialect.allCases)
    func patches(dialect: TestDialect) throws {
        let daemon = try DaemonProcess(["--require-if-match"])
        let client = try ResourceClient(dialect, daemon)
        let target = "/v1/notifications/a"
        let made = try client.perform(
            ResourceCall(.put, target, #"{"owner":"ann","group":"g","message":"Hi"}"#))
        #expect(made.status == 201)
        let patch = #"{"read":true}"#
        for condition in [Call.Condition.none, .absent] {
            let refused = try client.perform(
                ResourceCall(.patch, target, patch, condition: condition))
            #expect(refused.status == 428 && refused.code == "precondition_required")
        }
        // Also where there is nothing: it is about the request.
        let missing = try client.perform(ResourceCall(.patch, "/v1/notifications/b", patch))
        #expect(missing.status == 428)
        let revision = try #require(made.revision)
        let stale = try client.perform(
            ResourceCall(.patch, target, patch, condition: .revision(revision + 1)))
        #expect(stale.status == 412)
        let seen = try client.perform(
            ResourceCall(.patch, target, patch, condition: .revision(revision)))
        #expect(seen.status == 200)
        let any = try client.perform(
            ResourceCall(.patch, target, #"{"read":false}"#, condition: .exists))
        #expect(any.status == 200)
        // Everything else needs none: it replaces, or says what happened.
        let calls = [
            ResourceCall(.put, target, #"{"owner":"ann","group":"g","message":"Hi"}"#),
            ResourceCall(.patch, "/v1/users/ann/notifications?group=g", patch),
            ResourceCall(.post, "\(target)/responses", #"{"action":"default"}"#),
            ResourceCall(.delete, target),
        ]
        for call in calls { #expect(try client.perform(call).status < 300, "\(call.target)") }
        #expect(daemon.stop() == 0)
    }

    @Test("It is a problem document, and off unless it is asked for")
    func problem() throws {
        for (options, status) in [(["--require-if-match"], 428), ([], 200)] {
            let daemon = try DaemonProcess(options)
            let client = try daemon.connect()
            try client.put("a", [1])
            let answer = try client.request(
                "PATCH", "/v1/notifications/a", Self.json, body: Array(#"{"read":true}"#.utf8))
            #expect(answer.status == status)
            guard status == 428 else { continue }
            #expect(answer.statusLine == "HTTP/1.1 428 Precondition Required")
            #expect(answer.member("title") == "Precondition required")
            let digest = PayloadDigestText.of([1])
            let named = try client.request(
                "PATCH", "/v1/notifications/a",
                Self.json.merging(["If-Match": "\"sha256:\(digest)\""]) { $1 },
                body: Array(#"{"read":true}"#.utf8))
            #expect(named.status == 200)
            #expect(daemon.stop() == 0)
        }
    }

    @Test("The client and the command are told, and can give the revision")
    func clients() throws {
        let daemon = try DaemonProcess(["--require-if-match"])
        var connection = try BlobConnection.connect(to: daemon.socketPath)
        let receipt = try connection.call(.publish(NotificationUpload(id: "a", message: "Hi")))
        do throws(ClientError) {
            try connection.call(.patch("a", PatchRequest(isRead: true)))
            Issue.record("patched")
        } catch {
            guard case .refused(let problem) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(problem.status == 428 && problem.code == "precondition_required")
            #expect(!error.endsConnection)
        }
        let mark = try daemon.run("mark", "a", "--read")
        #expect(mark.status == 1 && mark.errors.contains("428 precondition_required"))
        let revision = receipt.notification.revision
        let seen = try daemon.run("mark", "a", "--read", "--if-revision", "\(revision)")
        #expect(seen.status == 0, "\(seen.errors)")
    }
}
