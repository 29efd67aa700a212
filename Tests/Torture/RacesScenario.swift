import BlobClient
import TestSupport

/// Lets several connections change the same thing at once under the same condition, which only the
/// first of them can meet.
struct RacesScenario: Scenario {
    static let about = About(
        "races", "Several clients, one condition: does exactly one of them win?",
        """
        Conditions on payloads, named parts, whole records and deletes. Each race has a notification of its own. Two
        to four connections hold back the last byte of their requests and then send it together. Exactly one of them
        may be answered with success, and all others with 412; what is stored is the winner's.
        """)

    @Setting(500, short: 40, "Races of each kind.") var rounds: Int

    func torture(_ bench: inout Workbench) throws -> [String] {
        var daemon = try DaemonUnderTest.serving(bench)
        let connections = try (0..<4).map { _ in try RawSocket.connect(to: daemon.socket) }
        var faults: [String] = []
        for (number, kind) in Race.kinds.enumerated() {
            for round in 0..<rounds {
                let count = Int.random(in: 2...connections.count, using: &bench.generator)
                let target = "/v1/notifications/race-\(number)-\(round)"
                let race = Race(kind: kind, target: target, contenderCount: count)
                if let fault = try race.run(connections.prefix(count)) {
                    faults.append("\(kind.words): \(fault)")
                }
            }
        }
        try daemon.stop()
        try verify(bench, "after the races")
        try require(
            faults.isEmpty,
            "\(faults.count) races went wrong: \(faults.prefix(3).joined(separator: "; "))")
        return ["\(rounds) races of \(Race.kinds.count) kinds", "one winner each"]
    }
}

/// One race: a notification, and what each contender sends.
private struct Race {
    /// What is raced for, of which all contenders send the same.
    struct Kind {
        let words: String
        /// What is there before: nothing, or the target's path and its body.
        let before: (path: String, type: String, body: String)?
        let method: String
        let path: String
        let type: String
        /// The condition; `ETAG` stands for the entity tag of what was there before.
        let condition: String
        /// What number one sends in place of the others' request.
        var first: String?

        init(
            _ words: String, before: (String, String, String)?, _ method: String, _ path: String,
            type: String = "text/plain", _ condition: String, first: String? = nil
        ) {
            (self.words, self.before, self.method, self.path) = (words, before, method, path)
            (self.type, self.condition, self.first) = (type, condition, first)
        }
    }

    private static let payload = ("/payload", "text/plain", "what was there before")
    private static let part = ("/parts/sound", "text/plain", "what was there before")
    private static let record = ("", "application/json", #"{"message":"before"}"#)

    static let kinds = [
        Kind("a new payload", before: nil, "PUT", "/payload", "If-None-Match: *"),
        Kind("a payload", before: payload, "PUT", "/payload", "If-Match: \"x\", ETAG"),
        Kind("a part", before: part, "PUT", "/parts/sound", "If-Match: ETAG"),
        Kind("a new record", before: nil, "PUT", "", type: "application/json", "If-None-Match: *"),
        Kind("a record", before: record, "PATCH", "", type: "application/json", "If-Match: ETAG"),
        Kind("a delete", before: record, "DELETE", "", "If-Match: ETAG"),
        Kind(
            "a payload or its delete", before: payload, "PUT", "/payload", "If-Match: ETAG",
            first: "DELETE"),
    ]

    let kind: Kind
    let target: String
    let contenderCount: Int

    private func body(_ number: Int) -> String {
        kind.type == "text/plain" ? "what \(number) sends" : #"{"message":"\#(number)"}"#
    }

    /// Returns what was wrong; nil: one won, and what it sent is there.
    func run(_ connections: ArraySlice<RawSocket>) throws -> String? {
        var tag = ""
        if let (path, type, body) = kind.before {
            let made = try connections[0].ask(
                HTTPClient.request(
                    "PUT", target + path, ["Content-Type: \(type)"], Array(body.utf8)))
            tag =
                path.isEmpty
                ? String(made.head.fields["etag"] ?? "")
                : "\"\(PayloadDigest(of: Array(body.utf8).span.bytes))\""
        }
        let requests = (0..<contenderCount).map { request($0, tag) }
        // All but the last byte, then the last byte of all.
        for isLast in [false, true] {
            for (connection, request) in zip(connections, requests) {
                let bytes = Array(isLast ? request.suffix(1) : request.dropLast())
                var early: [UInt8] = []
                let isOpen = try connection.sendAll(bytes, answers: &early)
                try require(isOpen && early.isEmpty, "a connection ended, or answered too early")
            }
        }
        let statuses = try connections.map { try $0.answers()[0].status }
        let winners = statuses.indices.filter { statuses[$0] < 300 }
        guard winners.count == 1, statuses.allSatisfy({ $0 < 300 || $0 == 412 }) else {
            return "\(statuses)"
        }
        let found = try connections[0].ask(HTTPClient.request("GET", target + kind.path))
        if kind.method == "DELETE" || winners[0] == 0 && kind.first == "DELETE" {
            return found.status == 404 ? nil : "deleted, and then \(found.status)"
        }
        let wanted = kind.type == "text/plain" ? body(winners[0]) : "\"message\":\"\(winners[0])\""
        return found.text.contains(wanted) ? nil : "\(found.status), another's: \(found.text)"
    }

    private func request(_ number: Int, _ tag: String) -> [UInt8] {
        let method = number == 0 ? kind.first ?? kind.method : kind.method
        let condition = kind.condition.replacing("ETAG", with: tag)
        return method == "DELETE"
            ? HTTPClient.request(method, target, [condition])
            : HTTPClient.request(
                method, target + kind.path, [condition, "Content-Type: \(kind.type)"],
                Array(body(number).utf8))
    }
}
