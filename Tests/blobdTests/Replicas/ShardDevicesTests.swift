import Glibc
import TestSupport
import Testing

/// The device socket of a host of a shard.
@Suite(.waiting) struct ShardDevicesTests {
    // Whoever had one valid link could make the host look into the bucket again and again, and learn who leads.
    @Test("A device's Blobd-Sequence is ignored")
    func sequences() throws {
        let folder = TemporaryFolder()
        let key = "k \(String(repeating: "AB", count: 22))\n"
        try Files.write(Array(key.utf8), to: "\(folder)/keys")
        chmod("\(folder)/keys", 0o600)
        let keys = ["--signing-keys", "\(folder)/keys"]
        let shard = try ProxiedShard(isDirect: true)
        let leader = try shard.daemon(
            ["--replicate", shard.url, "--device-socket", "\(folder)/device"] + keys, in: folder)
        try leader.put("42", [1, 2, 3], query: "?owner=ann")
        let link = String(try blobd(["sign", "42"] + keys).text.dropLast())
        let token = String(try blobd(["token", "ann"] + keys).text.dropLast())
        for (sequence, code) in [
            ("2-99999", "behind"), ("1-99999", "sequence_lost"), ("nonsense", "malformed"),
        ] {
            func ask(_ path: String, _ fields: [String: String] = [:]) throws -> String? {
                let fields = fields.merging(["Blobd-Sequence": sequence]) { $1 }
                return try RawClient("\(folder)/device").request("GET", path, fields).code
            }
            #expect(try ask("/d/42?e=9999999999&k=k&sig=none") == "forbidden")
            #expect(try ask("/d/users/ann/changes?since=0") == "forbidden")
            #expect(try ask("/d/me/notifications/42") == "bad_token")
            #expect(try ask("/v1/stats") == "not_found")
            let bearer = ["Authorization": "Bearer \(token)"]
            #expect(try ask(link) == nil)
            #expect(try ask("/d/me/notifications/42", bearer) == nil)
            // Backends are told, as before.
            let fields = bearer.merging(["Blobd-Sequence": sequence]) { $1 }
            #expect(try leader.request("GET", link, fields).code == code)
            #expect(try leader.request("GET", "/d/me/notifications/42", fields).code == code)
        }
    }
}
