import BlobProtocol
import Bytes
import Glibc
import TestSupport
import Testing

/// The socket that answers links alone, and links that end. How they are used is in the session `links.txt`.
@Suite(.waiting) struct SignedLinkDaemonTests {
    private static let keys = "new \(String(repeating: "AB", count: 22))\n"
    private static let oldKeys = "old \(String(repeating: "CD", count: 22))\n"

    /// A daemon with keys and a device socket.
    private struct Site {
        let folder = TemporaryFolder()
        let daemon: DaemonProcess
        var keyPath: String { "\(folder)/keys" }
        var devicePath: String { "\(folder)/device" }

        init(_ text: String = SignedLinkDaemonTests.keys, _ arguments: String...) throws {
            try Files.write(Array(text.utf8), to: "\(folder)/keys")
            chmod("\(folder)/keys", 0o600)
            daemon = try DaemonProcess(
                ["--signing-keys", "\(folder)/keys", "--device-socket", "\(folder)/device"]
                    + arguments,
                in: folder)
        }

        func reload(_ text: String, _ words: String) throws {
            try daemon.reload(keyPath, text, words)
        }

        /// A device that gets an owner's changes as they come.
        func stream(_ link: String) throws -> RawClient { try #require(try streamIfValid(link)) }

        /// The same; nil when the link is over.
        func streamIfValid(_ link: String) throws -> RawClient? {
            let client = try device()
            client.sendRequest("GET", "\(link)&since=0", ["Accept": "text/event-stream"])
            return try client.answer().status == 200 ? client : nil
        }

        /// A device that waits for an owner's next change.
        func wait(_ link: String) throws -> RawClient {
            let client = try device()
            client.sendRequest("GET", "\(link)&since=latest&wait=60")
            return client
        }

        /// What `blobd sign` prints.
        func sign(_ arguments: String...) throws -> String {
            let result = try blobd(["sign", "--signing-keys", keyPath] + arguments)
            #expect(result.status == 0, "\(result.errors)")
            return String(result.text.dropLast())
        }

        func device() throws -> RawClient { try RawClient(devicePath) }
    }

    @Test("The device socket answers links and /livez, and nothing else")
    func deviceSocket() throws {
        let site = try Site()
        try site.daemon.put("42", [1, 2, 3], query: "?owner=ann")
        let link = try site.sign("42")
        #expect(try site.device().request("GET", "/livez").status == 200)
        // All of the daemon's paths, by its own description of them; a test compares it with the code.
        let known = OpenAPI(try site.daemon.request("GET", "/v1/openapi.json").text).paths
            .filter { !$0.hasPrefix("/d/") && $0 != "/livez" }.map(OpenAPI.filled)
        #expect(known.count >= 20)
        let paths = known + ["/v1/users/ann/changes?since=0", "/", "/d", "/d/../v1/stats"]
        for path in paths {
            for method in ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "BREW"] {
                let body: [UInt8]? =
                    ["PUT", "POST", "PATCH"].contains(method) ? [0x7B, 0x7D] : nil
                let client = try site.device()
                client.sendRequest(method, path, body: body)
                let answer = try client.answer(isHead: method == "HEAD")
                #expect([404, 405, 501].contains(answer.status), "\(method) \(path)")
                #expect(!answer.text.contains("42"))
            }
        }
        for method in ["PUT", "POST", "PATCH", "DELETE"] {
            #expect(try site.device().request(method, link, body: []).status == 405)
        }
        // The binary protocol's first byte is no request here.
        let binary = try site.device()
        binary.send(helloFrame)
        #expect(try binary.answer().status == 400)
        #expect(try site.daemon.request("GET", "/v1/notifications/42/payload").body == [1, 2, 3])
        #expect(try site.daemon.statistic("notifications") == 1)
    }

    @Test("SIGHUP reads the keys again; a file with a mistake changes nothing")
    func rotation() throws {
        let site = try Site(Self.oldKeys)
        try site.daemon.put("42", [1])
        let link = try site.sign("42")
        try site.reload(Self.keys + Self.oldKeys, "now new, old")
        #expect(try site.daemon.request("GET", link).status == 200)
        let second = try site.sign("42")
        #expect(second.contains("&k=new&"))
        #expect(try site.daemon.request("GET", second).status == 200)
        try site.reload("x", "nothing has changed")
        #expect(try site.daemon.request("GET", link).status == 200)
        try site.reload(Self.keys, "removed old; now new\n")
        #expect(try site.daemon.request("GET", link).status == 403)
        #expect(try site.daemon.request("GET", second).status == 200)
        #expect(!site.daemon.log.contains("ABAB"))
    }

    // A stream continued until its client hung up, and kept one of the owner's places.
    @Test("A stream and a wait end at the link's expiry")
    func expiry() throws {
        // No heartbeat: nothing else comes.
        let site = try Site(Self.keys, "--heartbeat", "1h")
        try site.daemon.put("1", [1], query: "?owner=ann")
        let keys = try SigningKeys(parsing: Array(Self.keys.utf8))
        func made(seconds: Int64) throws -> String {
            try SignedLink(
                to: .changes(owner: "ann"), expiresAt: Int64(time(nil)) + seconds, keys: keys
            ).text
        }
        // On a busy machine a link may be over before it is used: a longer one is tried.
        var (seconds, link) = (Int64(4), try made(seconds: 4))
        var begun = try site.streamIfValid(link)
        while begun == nil && seconds < 100 {
            seconds *= 2
            link = try made(seconds: seconds)
            begun = try site.streamIfValid(link)
        }
        let (stream, wait) = (try #require(begun), try site.wait(link))
        let lasting = try site.stream(try site.sign("--changes", "ann"))
        #expect(try stream.change().words == "published 1")
        #expect(try wait.answer().code == "forbidden")
        let end = String(decoding: try stream.receiveAll(), as: UTF8.self)
        #expect(end.contains("event: problem") && end.contains("\"code\":\"forbidden\""), "\(end)")
        try site.daemon.waitUntil("watchers") { $0 == 1 }
        // The connection of a wait continues, with another link.
        #expect(try wait.request("GET", link).status == 403)
        #expect(try wait.request("GET", try site.sign("1")).status == 200)
        #expect(try lasting.change().words == "published 1")
        try site.daemon.put("2", [2], query: "?owner=ann")
        #expect(try lasting.change().words == "published 2")
    }

    @Test("A stream and a wait end when the key of their link is removed")
    func removedKey() throws {
        let site = try Site(Self.oldKeys, "--heartbeat", "1h")
        try site.daemon.put("1", [1], query: "?owner=ann")
        let old = try site.sign("--changes", "ann")
        let stream = try site.stream(old)
        #expect(try stream.change().words == "published 1")
        try site.reload(Self.keys + Self.oldKeys, "now new, old")
        let other = try site.stream(try site.sign("--changes", "ann"))
        #expect(try other.change().words == "published 1")
        // It waits for a minute at most.
        let wait = try site.wait(old)
        try site.daemon.waitUntil("watchers") { $0 == 3 }
        try site.reload(Self.keys, "removed old; now new\n")
        let end = String(decoding: try stream.receiveAll(), as: UTF8.self)
        #expect(end.contains("\"code\":\"forbidden\""), "\(end)")
        #expect(try wait.answer().code == "forbidden")
        try site.daemon.waitUntil("watchers") { $0 == 1 }
        try site.daemon.put("2", [2], query: "?owner=ann")
        #expect(try other.change().words == "published 2")
    }
}
