import Foundation
import TestSupport
import Testing

/// What a daemon of a shard says when it cannot start, and that nothing is spoiled by it.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct RefusedStartTests {
    /// A bucket that answers wrongly, and what the daemon says of it.
    struct Case: Sendable {
        let words: [String]
        /// Whether a follower meets it at its start, too.
        let holdsForFollowers: Bool
        let fault: ProxiedShard.Fault

        init(
            _ words: [String], followers: Bool = true, _ fault: @escaping ProxiedShard.Fault
        ) {
            self.words = words
            holdsForFollowers = followers
            self.fault = fault
        }
    }

    static let cases: [Case] = [
        Case(["the bucket \"test\" does not exist there. Create it"]) {
            _ in [.error(404, "NoSuchBucket")]
        },
        Case(["403 AccessDenied", "may not put there"], followers: false) {
            $0.method == "PUT" ? [.error(403, "AccessDenied")] : nil
        },
        Case(["403 AccessDenied", "may not get there", "s3:ListBucket"]) {
            $0.method == "GET" && !$0.isList ? [.error(403, "AccessDenied")] : nil
        },
        Case(["403 AccessDenied", "may not list there", "s3:ListBucket"]) {
            $0.isList ? [.error(403, "AccessDenied")] : nil
        },
        Case(
            ["is not at this endpoint in region us-east-1 (the server names region eu-central-1"]
        ) { _ in
            [
                .error(
                    301, "PermanentRedirect", ["x-amz-bucket-region: eu-central-1"],
                    more: "<Endpoint>test.s3.example.com</Endpoint>")
            ]
        },
        Case(["307", "redirects are not followed"]) { _ in
            [.answer(307, ["Location: http://127.0.0.1:1/elsewhere"])]
        },
        Case(
            ["400 ExpiredToken", "does not accept the access key testkey", "needs a restart"]
        ) { _ in [.error(400, "ExpiredToken")] },
        Case(["the secret does not belong to the access key testkey"]) { _ in
            [.error(403, "SignatureDoesNotMatch")]
        },
        Case(["Set the clock"]) { _ in
            [.error(403, "RequestTimeTooSkewed", ["Date: Fri, 22 Nov 2036 12:00:00 GMT"])]
        },
        Case(["200 with the error InternalError"]) {
            $0.method == "GET"
                ? [
                    .answer(
                        200, ["Content-Type: application/xml"],
                        body: "<Error><Code>InternalError</Code></Error>")
                ] : nil
        },
        Case(["store.json", "200 with a page instead of an object"]) { _ in
            [.answer(200, ["Content-Type: text/html"], body: "<html>Welcome</html>")]
        },
        Case(["InternalError"], followers: false) {
            $0.method == "PUT"
                ? [
                    .answer(
                        200, ["Content-Type: application/xml"],
                        body: "<Error><Code>InternalError</Code></Error>")
                ] : nil
        },
    ]

    @Test("A leader is refused by name, and begins when the faults are over")
    func leader() throws {
        var (shard, folder) = (try ProxiedShard(), TemporaryFolder())
        for bad in Self.cases {
            // A shard of its own: what was refused may have begun it.
            (shard, folder) = (try ProxiedShard(), TemporaryFolder())
            shard.fail(bad.fault)
            let (status, log) = try shard.refusal(["--replicate", shard.url], in: folder)
            #expect(status == 1, "\(log)")
            for words in bad.words { #expect(log.contains(words), "\(words): \(log)") }
        }
        shard.mend()
        let daemon = try shard.leader(in: folder)
        #expect(try daemon.publish("1").status == 201)
        #expect(daemon.stop() == 0)
    }

    @Test("A new follower is refused by name, and begins when the faults are over")
    func follower() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader()
        #expect(try leader.publish("1").status == 201)
        try leader.wait(for: "no base") { _ in
            try shard.names("base/").contains { $0.hasSuffix("manifest.json") }
        }
        var folder = TemporaryFolder()
        for bad in Self.cases where bad.holdsForFollowers {
            folder = TemporaryFolder()
            shard.fail(bad.fault)
            let (status, log) = try shard.refusal(["--follow", shard.url], in: folder)
            #expect(status == 1, "\(log)")
            for words in bad.words { #expect(log.contains(words), "\(words): \(log)") }
        }
        shard.mend()
        let daemon = try shard.follower(in: folder)
        try daemon.wait(for: "nothing is there") { try $0.has("1") }
    }

    @Test("A bucket that ignores conditions is refused before anything of it is replaced")
    func ignoredConditions() throws {
        let shard = try ProxiedShard()
        let first = try shard.leader()
        #expect(try first.publish("1").status == 201)
        let document = try #require(try shard.object("store.json"))
        shard.drop(header: "if-none-match")
        // Another store, and the same one again.
        let other = try shard.refusal(["--replicate", shard.url])
        #expect(other.status == 1 && other.log.contains("led by host-a"), "\(other.log)")
        #expect(try shard.object("store.json") == document)
        let empty = try ProxiedShard()
        empty.drop(header: "if-none-match")
        let refused = try empty.refusal(["--replicate", empty.url])
        #expect(refused.status == 1)
        #expect(
            refused.log.contains(
                "\(empty.url) cannot be replicated to: the server does not honour conditional creates"
            ), "\(refused.log)")
        #expect(try empty.names() == [])
        // A leader that has its store serves, and ships nothing.
        #expect(first.stop() == 0)
        let again = try shard.leader(in: first.folder, "--max-unreplicated", "1s")
        try again.waitForLog("cannot be replicated to")
        #expect(try again.publish("2").code == "unreplicated")
        #expect(try again.has("1"))
        // Stored before it was refused, unless the second was over before it came.
        let isStored = try again.has("2")
        shard.mend()
        // 200 where one that was refused because it waited too long has stored it.
        try again.wait(for: "no way back") { try $0.publish("3").status < 300 }
        #expect(try again.has("2") == isStored)
    }
}

extension ScriptedServer.Request {
    /// Whether it lists names.
    var isList: Bool { method == "GET" && target.contains("list-type=2") }
}
