import Foundation
import TestSupport
import Testing

/// A bucket that fails while daemons use it: nothing that was acknowledged is lost, what is acknowledged as
/// replicated is in the bucket, the log names the failure, and all continues when it is over.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct FailingBucketTests {
    /// What fails, and the words that the log must have of it.
    typealias Case = (words: [String], fault: ProxiedShard.Fault)

    /// Answers to a leader's puts of segments.
    static func putFaults(_ shard: ProxiedShard) -> [Case] {
        func put(_ steps: [ScriptedServer.Step]) -> ProxiedShard.Fault {
            { $0.isSegment("PUT") ? steps : nil }
        }
        return [
            (
                ["Replication is paused: put log/", "may not put"],
                put([.error(403, "AccessDenied")])
            ),
            // What became of these is not known: the same bytes are sent again.
            (["500 InternalError"], put([.error(500, "InternalError")])),
            ([], put([.close])),
            // Each is in the bucket, and the leader does not hear of it.
            (
                [],
                { request in
                    guard request.isSegment("PUT") else { return nil }
                    return [.send(Array(shard.pass(request).prefix(5))), .close]
                }
            ),
        ]
    }

    private static func problem(of daemon: DaemonProcess) throws -> String? {
        try daemon.request("GET", "/v1/replication").member("problem")
    }

    /// Kills a leader, removes its folder, and returns a new follower that leads instead.
    private func lose(_ leader: DaemonProcess, of shard: ProxiedShard) throws -> DaemonProcess {
        let follower = try shard.follower()
        leader.signal(SIGKILL)
        leader.wait()
        Files.remove(leader.dataPath)
        let promoted = try follower.run("promote", "--force", "--timeout", "300")
        #expect(promoted.status == 0, "\(promoted.errors)")
        return follower
    }

    @Test(
        "Puts of segments fail: local changes go on, replicated ones wait, then all is in the bucket"
    )
    func puts() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader(in: nil, "--max-unreplicated", "1s")
        // On a busy machine the lead may take longer to begin than a change waits here.
        try leader.wait(for: "no first change") { try $0.publish("first").status < 300 }
        var ids = ["first"]
        for (number, (words, fault)) in Self.putFaults(shard).enumerated() {
            let offset = leader.log.utf8.count
            shard.fail(fault)
            // What was too much a moment ago may be thought so a moment longer.
            try leader.wait(for: "local changes are refused") {
                try $0.publish("l-\(number)", ack: "local").status == 201
            }
            let refused = try leader.publish("r-\(number)")
            #expect(refused.status == 503 && refused.code == "unreplicated", "\(refused.text)")
            #expect(try leader.request("GET", "/livez").status == 200)
            #expect(try leader.replication("lag_milliseconds") > 0)
            ids.append("l-\(number)")
            // Stored before it was refused, unless the second was over before it came.
            if try leader.has("r-\(number)") { ids.append("r-\(number)") }
            for id in ids { #expect(try leader.has(id)) }
            for words in words { try leader.waitForLog(words, after: offset) }
            try leader.wait(for: "it says no problem") { try Self.problem(of: $0) != nil }
            shard.mend()
            // 200 where one that was refused because it waited too long has stored it.
            try leader.wait(for: "fault \(number) is over") {
                try $0.publish("after-\(number)").status < 300
            }
            try leader.wait(for: "it says a problem") { try Self.problem(of: $0) == nil }
            ids.append("after-\(number)")
        }
        let follower = try lose(leader, of: shard)
        for id in ids { #expect(try follower.has(id), "\(id)") }
        let restored = try shard.command("restore", shard.url, "--verify-only")
        #expect(restored.status == 0, "\(restored.errors)")
    }

    // Nineteen publishes were acknowledged as replicated, and the bucket could not be restored.
    @Test("Nothing is acknowledged as replicated before the shard has a base")
    func withoutBase() throws {
        let shard = try ProxiedShard()
        shard.fail { request in
            request.method == "PUT" && request.target.contains("/base/")
                ? [.error(403, "AccessDenied")] : nil
        }
        let leader = try shard.leader(in: nil, "--max-unreplicated", "2s")
        // The first of these may have waited only for the lead to begin, and nobody looks for a base without one.
        try leader.wait(for: "no look for a base") {
            let refused = try $0.publish("1")
            #expect(refused.status == 503 && refused.code == "unreplicated", "\(refused.text)")
            return $0.log.contains(
                "acknowledged as replicated when the first base is in the bucket")
        }
        try leader.wait(for: "local changes are refused") {
            try $0.publish("2", ack: "local").status == 201
        }
        shard.mend()
        try leader.wait(for: "it does not go on") { try $0.publish("3").status < 300 }
        let restored = try shard.command("restore", shard.url, "--verify-only")
        #expect(restored.status == 0, "\(restored.errors)")
    }

    // Each restart gave a leader without its bucket as long again.
    @Test("A restart does not make unreplicated changes younger")
    func restart() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader(in: nil, "--max-unreplicated", "1s")
        try leader.wait(for: "no first change") { try $0.publish("first").status < 300 }
        shard.fail { _ in [.close] }
        // What was too much a moment ago may be thought so a moment longer.
        try leader.wait(for: "local changes are refused") {
            try $0.publish("local", ack: "local").status == 201
        }
        try leader.wait(for: "local changes are not refused") {
            try $0.publish("more", ack: "local").code == "unreplicated"
        }
        leader.signal(SIGKILL)
        leader.wait()
        let again = try shard.leader(in: leader.folder, "--max-unreplicated", "1s")
        #expect(try again.publish("again", ack: "local").code == "unreplicated")
        #expect(try again.replication("lag_milliseconds") > 1_000)
        shard.mend()
        try again.wait(for: "it does not go on") { try $0.publish("after").status < 300 }
        #expect(try again.has("local"))
    }

    // It was acknowledged as replicated, and went with the leader.
    @Test("A payload that is published again is in the bucket, also where that had lost it")
    func lostObject() throws {
        let shard = try ProxiedShard()
        let bytes = SeededGenerator.bytes(200_000, seed: 7)
        func publish(_ id: String, on leader: DaemonProcess) throws -> Int {
            try leader.request(
                "PUT", "/v1/notifications/\(id)/payload", ["Blobd-Ack": "replicated"],
                body: bytes
            ).status
        }
        let first = try shard.leader()
        try first.wait(for: "no first change") { try $0.publish("first").status < 300 }
        #expect(try publish("one", on: first) == 201)
        #expect(try publish("two", on: first) == 201)
        #expect(shard.blobGets == 0)
        let names = try shard.names("blob/")
        #expect(names.count == 1)
        try shard.delete(names[0])
        // What it has seen a moment ago it does not look at again.
        #expect(first.stop() == 0)
        let leader = try shard.leader(in: first.folder)
        try leader.wait(for: "no change") { try $0.publish("second").status < 300 }
        #expect(try publish("three", on: leader) == 201)
        #expect(try shard.names("blob/") == names)
        // A client asks again where an answer is late.
        let gets = shard.blobGets
        #expect(gets > 0)
        #expect(try publish("four", on: leader) == 201)
        #expect(try shard.names("blob/") == names)
        #expect(shard.blobGets == gets)
        let follower = try lose(leader, of: shard)
        for id in ["one", "four"] {
            let isSame =
                try follower.request("GET", "/v1/notifications/\(id)/payload").body == bytes
            #expect(isSame, "\(id)")
        }
    }

    // Told at once that there was nothing to delete, a client took the first attempt's change for replicated.
    @Test("A delete that is sent again is answered when the first one is in the bucket")
    func repeatedDelete() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader(in: nil, "--max-unreplicated", "3s")
        try leader.wait(for: "no first change") { try $0.publish("first").status < 300 }
        func delete(_ ack: String) throws -> HTTPAnswer {
            try leader.request("DELETE", "/v1/notifications/first", ["Blobd-Ack": ack])
        }
        shard.fail { $0.isSegment("PUT") ? [.error(500, "InternalError")] : nil }
        // What was too much a moment ago may be thought so a moment longer.
        try leader.wait(for: "local changes are refused") { _ in try delete("local").status == 204 }
        // Refused, where the three seconds are over.
        let again = try delete("local")
        #expect(again.status == 404 || again.code == "unreplicated", "\(again.text)")
        let waited = try delete("replicated")
        #expect(waited.status == 503 && waited.code == "unreplicated", "\(waited.text)")
        shard.mend()
        try leader.wait(for: "it is not in the bucket") { _ in
            try delete("replicated").status == 404
        }
    }

    @Test("Without the right to delete a leader serves, and says at its start what will stay")
    func deletes() throws {
        let shard = try ProxiedShard()
        shard.fail { $0.method == "DELETE" ? [.error(403, "AccessDenied")] : nil }
        let leader = try shard.leader()
        #expect(try leader.publish("1").status == 201)
        #expect(leader.log.contains("Cannot delete from \(shard.url)"), "\(leader.log)")
        #expect(leader.log.contains("may not delete there"))
        let follower = try shard.follower()
        try follower.wait(for: "nothing is there") { try $0.has("1") }
        try follower.promote()
        #expect(try follower.publish("2").status == 201)
    }

    @Test("Without the right to list a leader that comes back serves, and leads when it may")
    func lists() throws {
        let shard = try ProxiedShard()
        let first = try shard.leader(in: nil, "--max-unreplicated", "1s")
        try first.wait(for: "it publishes") { try $0.publish("1").status < 300 }
        first.signal(SIGKILL)
        first.wait()
        shard.fail { $0.isList ? [.error(403, "AccessDenied")] : nil }
        let leader = try shard.leader(in: first.folder, "--max-unreplicated", "1s")
        try leader.waitForLog("may not list there")
        #expect(try leader.publish("2").code == "unreplicated")
        // Stored before it was refused, unless changes of the earlier run, of which it does not know that the bucket has
        // them, are too old.
        #expect(try leader.has("1"))
        shard.mend()
        try leader.wait(for: "it does not lead") { try $0.publish("3").status < 300 }
    }

    @Test("A promotion that the bucket refuses is answered, and succeeds later")
    func promotion() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader()
        #expect(try leader.publish("1").status == 201)
        let follower = try shard.follower()
        try follower.wait(for: "nothing is there") { try $0.has("1") }
        shard.fail { $0.method == "PUT" ? [.error(403, "AccessDenied")] : nil }
        let refused = try follower.run("promote", "--force", "--timeout", "300")
        #expect(refused.status != 0)
        #expect(refused.errors.contains("cannot take the lead: put "), "\(refused.errors)")
        #expect(refused.errors.contains("may not put there"))
        #expect(try follower.role() == "follower")
        shard.mend()
        let promoted = try follower.run("promote", "--force", "--timeout", "300")
        #expect(promoted.status == 0, "\(promoted.errors)")
        #expect(try follower.publish("2").status == 201)
        try leader.wait(for: "it does not follow") { try $0.has("2") }
        // A planned one, too, where the epochs cannot be listed. It says so when it follows, which may take a moment.
        shard.fail { $0.isList ? [.error(403, "AccessDenied")] : nil }
        let patience = Patience()
        while true {
            let refused = try leader.run("promote")
            #expect(refused.status != 0)
            if refused.errors.contains("may not list there") { break }
            try patience.wait(orThrow: refused.errors)
        }
    }
}

extension ScriptedServer.Request {
    /// Whether it puts or gets a segment.
    func isSegment(_ method: String) -> Bool {
        self.method == method && target.contains("/log/") && !target.contains("?")
    }
}
