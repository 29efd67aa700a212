import Foundation
import TestSupport
import Testing

/// Prefixes with every byte that a URL encodes.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct PrefixNameTests {
    static let printable = String(decoding: (0x21...0x7E).filter { $0 != 0x2F }, as: UTF8.self)

    @Test(
        "Leader, follower, promotion, restore and replicas work",
        arguments: [" %25%2f%00 日本/é… ", "\(printable)"])
    func works(name: String) throws {
        let shard = try ProxiedShard("\(name)/\(UInt64.random(in: .min ... .max))")
        let leader = try shard.leader()
        #expect(try leader.publish("1").status == 201)
        let follower = try shard.follower()
        try follower.wait(for: "nothing is there") { try $0.has("1") }
        try follower.promote()
        #expect(try follower.publish("2").status == 201)
        try leader.wait(for: "it does not follow") { try $0.has("2") }
        let replicas = try shard.command("replicas", shard.url)
        #expect(replicas.status == 0, "\(replicas.errors)")
        #expect(replicas.text.contains("leader    host-b, epoch "), "\(replicas.text)")
        let data = TemporaryFolder()
        let restored = try shard.command("restore", shard.url, "--data", data.path("data"))
        #expect(restored.status == 0, "\(restored.errors)")
        // The objects are below the prefix as it was written.
        #expect(try shard.names("alive/").count >= 2)
    }
}
