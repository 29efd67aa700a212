import Glibc
import TestSupport
import Testing

/// Damage that a daemon's own work meets, while it runs and after a restart: it is named, and the work goes on.
@Suite(.waiting) struct DamagedPageTests {
    // Nobody has been sent anything: what an earlier run stored is freed at once.
    private static let fast = ["--sweep-interval", "20ms", "--zero-copy-grace", "0ms"]

    private static func bytes(_ number: Int) -> [UInt8] {
        SeededGenerator.bytes(300_000, seed: UInt64(number))
    }

    private static func count(of words: String, in log: String) -> Int {
        log.split(separator: "\n").count { $0.contains(words) }
    }

    /// One damaged header stopped freeing for good: a line each second, and the disk filled.
    @Test("A blob in a damaged page is named once and stepped over; the others are freed")
    func freeing() throws {
        let folder = TemporaryFolder()
        let data = "\(folder)/data/data.mdb"
        do {
            let daemon = try DaemonProcess(Self.fast, in: folder)
            for number in 0..<8 {
                #expect(try daemon.put("n\(number)", Self.bytes(number)).status == 201)
            }
            try daemon.waitUntil("log_batches") { $0 == 0 }
            try Files.damageHeader(ofPageWith: Self.bytes(1)[..<32], .number, bit: 2, in: data)
            for number in 0..<4 {
                #expect(
                    try daemon.request("DELETE", "/v1/notifications/n\(number)").status == 204)
            }
            try daemon.waitUntil("orphan_blobs") { $0 == 1 }
            try daemon.waitForLog("and steps over it")
            let metrics = try daemon.request("GET", "/metrics").text
            #expect(metrics.contains("blobd_corrupt_chunks_total 1\n"))
            #expect(daemon.stop() == 0)
            #expect(Self.count(of: "and steps over it", in: daemon.log) == 1, "\(daemon.log)")
        }
        let daemon = try DaemonProcess(Self.fast, in: folder)
        for number in 4..<6 {
            #expect(try daemon.request("DELETE", "/v1/notifications/n\(number)").status == 204)
        }
        #expect(try daemon.put("new", Self.bytes(9)).status == 201)
        try daemon.waitUntil("orphan_blobs") { $0 == 1 }
        try daemon.wait(for: "it is not named again") {
            Self.count(of: "and steps over it", in: $0.log) == 2
        }
        for (id, number) in [("n6", 6), ("n7", 7), ("new", 9)] {
            let answer = try daemon.request("GET", "/v1/notifications/\(id)/payload")
            #expect(answer.body == Self.bytes(number))
        }
        #expect(daemon.stop() == 0)
        #expect(Self.count(of: "and steps over it", in: daemon.log) == 2, "once in each run")
        #expect(!daemon.log.contains("Cannot free blobs"), "\(daemon.log)")
    }

    private static let record = #"{"owner":"anna","group":"g","message":"message-of-"#

    /// A client that looked at the status took the account for gone.
    @Test("The removal of an account, and a change of a group, say what damage they have left")
    func accounts() throws {
        let folder = TemporaryFolder()
        do {
            let daemon = try DaemonProcess(Self.fast, in: folder)
            for id in ["a", "b", "c"] {
                let put = try daemon.request(
                    "PUT", "/v1/notifications/\(id)", ["Content-Type": "application/json"],
                    body: Array(#"\#(Self.record)\#(id)"}"#.utf8))
                #expect(put.status == 201, "\(put.text)")
            }
            try daemon.waitUntil("log_batches") { $0 == 0 }
            // Each commit leaves a copy of the page.
            let (path, text) = ("\(folder)/data/data.mdb", Array("message-of-b".utf8))
            for place in try Files.read(path).ranges(of: text) {
                try Files.overwrite([text[0] ^ 1], at: place.lowerBound, in: path)
            }
            let patched = try daemon.request(
                "PATCH", "/v1/users/anna/notifications?group=g",
                ["Content-Type": "application/merge-patch+json"],
                body: Array(#"{"read":true}"#.utf8))
            try Self.expectLeft(patched, changed: "2")
            let removed = try daemon.run("rm", "--owner", "anna", "--group", "g")
            #expect(removed.status == 1)
            #expect(removed.errors.contains("1 damaged notification"), "\(removed.errors)")
            #expect(removed.errors.contains(": b"), "\(removed.errors)")
            try daemon.waitForLog("damaged notifications as they were (b)")
            #expect(daemon.stop() == 0)
        }
        let daemon = try DaemonProcess(Self.fast, in: folder)
        #expect(
            try daemon.request(
                "PUT", "/v1/notifications/d", ["Content-Type": "application/json"],
                body: Array(#"\#(Self.record)d"}"#.utf8)
            ).status == 201)
        for changed in ["1", "0"] {
            try Self.expectLeft(
                try daemon.request("DELETE", "/v1/users/anna"), changed: changed)
            try Self.expectLeft(
                try daemon.request("DELETE", "/v1/users/anna/notifications?group=g"), changed: "0")
        }
        #expect(try daemon.request("GET", "/v1/notifications/d").status == 404)
        #expect(try daemon.statistic("notifications") == 1)
        #expect(daemon.stop() == 0)
    }

    private static func expectLeft(
        _ answer: HTTPAnswer, changed: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(answer.status == 500, "\(answer.text)", sourceLocation: location)
        #expect(answer.code == "corrupt", "\(answer.text)", sourceLocation: location)
        #expect(answer.member("changed") == changed, "\(answer.text)", sourceLocation: location)
        #expect(answer.member("damaged") == "1", "\(answer.text)", sourceLocation: location)
        #expect(
            answer.text.contains(#""damaged_ids":["b"]"#), "\(answer.text)",
            sourceLocation: location)
    }
}
