import Glibc
import TestSupport
import Testing

/// A token was looked at when the head came, and not when the body had: a slow body made a change that its token no
/// longer allowed.
@Suite(.waiting) struct SlowBodyTests {
    private static let document = #"{"read":true}"#
    private static let otherKeys = "other \(String(repeating: "AB", count: 22))\n"

    /// Sends the head of a change, whose body the daemon then waits for. False if the token is not valid.
    private func begin(
        _ method: String, _ path: String, _ token: String, on client: RawClient
    ) throws -> Bool {
        client.sendRequest(
            method, "/d/me/notifications/1\(path)",
            [
                "Authorization": "Bearer \(token)", "Content-Type": "application/json",
                "Content-Length": "\(Self.document.utf8.count)", "Expect": "100-continue",
            ])
        let status = try client.answer().status
        return status == 100
    }

    private func site() throws -> DaemonProcess {
        let folder = TemporaryFolder()
        let daemon = try DaemonProcess(try DeviceKeys.flags(in: folder), in: folder)
        try daemon.put("1", [1], query: "?owner=ann")
        return daemon
    }

    private func finish(_ client: RawClient, _ daemon: DaemonProcess) throws {
        client.send(Self.document)
        let answer = try client.answer()
        #expect(answer.status == 401 && answer.code == "bad_token", "\(answer.text)")
        #expect(answer["WWW-Authenticate"] == "Bearer")
        #expect(try daemon.request("GET", "/v1/notifications/1").member("revision") == "1")
    }

    @Test("A change whose token has expired when its body is complete is refused")
    func expiry() throws {
        let daemon = try site()
        // On a busy machine a token may be over before it is used: a longer one is tried.
        var seconds = 2
        while true {
            let token = DeviceKeys.token(
                DeviceKeys.withTimes(#"{"sub":"ann","exp":now+\#(seconds),"scope":"write"}"#))
            let patch = try RawClient(DeviceKeys.devicePath(daemon.folder))
            let post = try RawClient(DeviceKeys.devicePath(daemon.folder))
            if try begin("PATCH", "", token, on: patch),
                try begin("POST", "/responses", token, on: post)
            {
                let asker = try RawClient(DeviceKeys.devicePath(daemon.folder))
                let patience = Patience()
                while try asker.request(
                    "GET", "/d/me/notifications/1", ["Authorization": "Bearer \(token)"]
                ).status != 401 {
                    try patience.wait(orThrow: "the token does not expire")
                }
                try finish(patch, daemon)
                try finish(post, daemon)
                break
            }
            seconds *= 2
            try #require(seconds < 100, "no token is valid")
        }
        #expect(daemon.stop() == 0)
    }

    @Test("A change whose key was removed when its body is complete is refused")
    func removedKey() throws {
        let daemon = try site()
        let token = DeviceKeys.token(
            DeviceKeys.withTimes(#"{"sub":"ann","exp":now+3600,"scope":"write"}"#))
        let client = try RawClient(DeviceKeys.devicePath(daemon.folder))
        #expect(try begin("PATCH", "", token, on: client))
        try daemon.reload("\(daemon.folder)/keys", Self.otherKeys, "now other")
        try finish(client, daemon)
        #expect(daemon.stop() == 0)
    }
}
