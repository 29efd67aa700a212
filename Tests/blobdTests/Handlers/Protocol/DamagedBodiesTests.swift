import BlobProtocol
import TestSupport
import Testing

/// Good bodies with some bytes wrong, too few or too many: each is answered, and the daemon goes on.
@Suite(.waiting) struct DamagedBodiesTests {
    private static let document = #"""
        {"owner":"u","message":"Hé\u00e9llo","priority":"low","data":{"a":[1,2.5e3,null,true]},\#
        "actions":[{"identifier":"yes","title":"Yes"}],"ttl":60}
        """#

    /// What is damaged: requests whose bodies are good.
    private static let good: [ResourceCall] = [
        ResourceCall(.put, "/v1/notifications/x", document),
        ResourceCall(
            .put, "/v1/notifications/x",
            bytes: multipartBody(
                document,
                files: [("payload", "image/png", [1, 13, 10, 45, 45, 2]), ("b", nil, [])]),
            type: multipartType),
        ResourceCall(
            .post, "/v1/notifications:batch", "\(document)\n{\"id\":\"y\"}\r\n\n{}", type: nil),
        ResourceCall(
            .patch, "/v1/notifications/x", #"{"data":{"a":null},"read":true,"message":null}"#),
        ResourceCall(.patch, "/v1/users/u/notifications?group=g", #"{"read":true}"#),
        ResourceCall(.post, "/v1/notifications/x/responses", #"{"action":"yes","key":"k"}"#),
        ResourceCall(
            .put, "/v1/categories/c", #"{"actions":[{"identifier":"yes","title":"Yes"}]}"#),
    ]

    @Test("Nothing ends the daemon, and every request is answered", arguments: TestDialect.allCases)
    func damaged(dialect: TestDialect) throws {
        let seed: UInt64 = 4_711
        var random = SeededGenerator(seed: seed)
        let daemon = try DaemonProcess()
        let client = try ResourceClient(dialect, daemon)
        var statuses: Set<Int> = []
        for round in 0..<700 {
            var call = Self.good[round % Self.good.count]
            let choices = random.bytes(8)
            for index in 0..<Int(choices[0] % 3) where !call.body.isEmpty {
                let position =
                    (Int(choices[1 + index]) << 8 | Int(choices[3 + index])) % call.body.count
                switch choices[5] % 4 {
                case 0: call.body[position] = choices[6]
                case 1: call.body[position] ^= 1 << (choices[6] % 8)
                case 2: call.body.removeSubrange(position...)
                default: call.body.insert(contentsOf: call.body[position...], at: position)
                }
            }
            let answer = try client.perform(call)
            statuses.insert(answer.status)
            #expect(
                (200..<500).contains(answer.status),
                "seed \(seed), round \(round), \(call.target): \(answer.text)")
            if answer.status >= 400 { #expect(answer.code != nil) }
        }
        #expect(statuses.isSuperset(of: [200, 201, 400]), "\(statuses)")
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
        #expect(daemon.stop() == 0)
    }
}
