import BlobProtocol
import TestSupport
import Testing

/// Good bodies with some bytes wrong, too few or too many: each is answered, and the daemon continues.
@Suite(.waiting) struct DamagedBodiesTests {
    private static let document = #"""
        {"owner":"u","message":"Hé\u00e9llo","priority":"low","data":{"a":[1,2.5e3,null,true]},\#
        "actions":[{"identifier":"yes","title":"Yes"}],"ttl":60}
        """#

    private static func request(
        _ method: String, _ target: String, _ body: String, type: String? = "application/json"
    ) -> TestRequest {
        var request = TestRequest(method, target, body)
        request.fields["Content-Type"] = type
        return request
    }

    /// What is damaged: requests whose bodies are good.
    private static let good: [TestRequest] = [
        request("PUT", "/v1/notifications/x", document),
        TestRequest(
            "PUT", "/v1/notifications/x", ["Content-Type": multipartType],
            body: multipartBody(
                document,
                files: [("payload", "image/png", [1, 13, 10, 45, 45, 2]), ("b", nil, [])])),
        request(
            "POST", "/v1/notifications:batch", "\(document)\n{\"id\":\"y\"}\r\n\n{}", type: nil),
        request("PATCH", "/v1/notifications/x", #"{"data":{"a":null},"read":true,"message":null}"#),
        request("PATCH", "/v1/users/u/notifications?group=g", #"{"read":true}"#),
        request("POST", "/v1/notifications/x/responses", #"{"action":"yes","key":"k"}"#),
        request(
            "PUT", "/v1/categories/c", #"{"actions":[{"identifier":"yes","title":"Yes"}]}"#),
    ]

    @Test("Nothing ends the daemon, and every request is answered", arguments: TestDialect.allCases)
    func damaged(dialect: TestDialect) throws {
        let seed: UInt64 = 4_711
        var random = SeededGenerator(seed: seed)
        let daemon = try DaemonProcess()
        var client = try TestConnection(dialect, daemon)
        var statuses: Set<Int> = []
        for round in 0..<700 {
            var call = Self.good[round % Self.good.count]
            var body = call.body ?? []
            let choices = random.bytes(8)
            for index in 0..<Int(choices[0] % 3) where !body.isEmpty {
                let position =
                    (Int(choices[1 + index]) << 8 | Int(choices[3 + index])) % body.count
                switch choices[5] % 4 {
                case 0: body[position] = choices[6]
                case 1: body[position] ^= 1 << (choices[6] % 8)
                case 2: body.removeSubrange(position...)
                default: body.insert(contentsOf: body[position...], at: position)
                }
            }
            call.body = body
            let answer = try client.perform(call)
            if client.isOver { client = try TestConnection(dialect, daemon) }
            statuses.insert(answer.status)
            #expect(
                (200..<500).contains(answer.status),
                "seed \(seed), round \(round), \(call.target): \(answer.text)")
            if answer.status >= 400 { #expect(answer.member("code") != nil) }
        }
        #expect(statuses.isSuperset(of: [200, 201, 400]), "\(statuses)")
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
        #expect(daemon.stop() == 0)
    }
}
