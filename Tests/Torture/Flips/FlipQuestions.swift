import TestSupport

/// What a store is asked, and what it says while it is whole.
struct FlipQuestions {
    private var answers: [(target: String, body: [UInt8])] = []
    private static let idCount = 30

    /// Makes a store with every kind of entry, through a daemon that runs.
    static func fill(_ socket: String) throws {
        func send(_ method: String, _ target: String, _ type: String, _ body: [UInt8]) throws {
            let answer = try HTTPClient.call(method, target, type: type, body, at: socket)
            try require(answer.status < 300, "\(method) \(target): \(answer.text)")
        }
        func json(_ method: String, _ target: String, _ text: String) throws {
            try send(method, target, "application/json", Array(text.utf8))
        }
        func put(_ payload: Payload, to target: String) throws {
            try send("PUT", target, payload.mediaType, payload.bytes())
        }
        let buttons =
            #"{"actions":[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]}"#
        for name in ["ask", "tell"] { try json("PUT", "/v1/categories/\(name)", buttons) }
        let byteCounts = [40, 700, 1_900, 3_000, 9_000, 70_000, 140_000]
        for index in 0..<idCount {
            let target = "/v1/notifications/n\(index)"
            let document =
                #"{"owner":"owner-\#(index % 3)","message":"message \#(index)","category":"ask","group":"g\#(index % 2)","data":{"n":\#(index)},"ttl":86400}"#
            try json("PUT", target, document)
            let payload = Payload(
                seed: UInt64(1_000 + index), byteCount: byteCounts[index % byteCounts.count],
                kind: index % 3 == 1 ? .text : .noise)
            try put(payload, to: "\(target)/payload")
            if index % 4 == 0 {
                let icon = Payload(seed: UInt64(index), byteCount: 300, kind: .noise)
                try put(icon, to: "\(target)/parts/icon")
            }
            if index % 5 == 1 {
                try json("POST", "\(target)/responses", #"{"action":"yes","key":"k\#(index)"}"#)
            }
            if index % 6 == 3 { try send("DELETE", target, "", []) }
        }
        // Held, and referred to by nothing.
        let held = Payload(seed: 77, byteCount: 5_000, kind: .noise)
        try put(held, to: "/v1/blobs/\(held.digest())?ttl=86400")
    }

    /// Asks a whole store everything.
    init(of socket: String) throws {
        var targets = (0..<Self.idCount).flatMap { index in
            ["", "/payload", "/parts/icon"].map { "/v1/notifications/n\(index)\($0)" }
        }
        for owner in 0..<3 {
            targets += ["notifications", "changes"].map {
                "/v1/users/owner-\(owner)/\($0)?limit=1000"
            }
        }
        for target in targets + ["/v1/categories"] {
            let answer = try HTTPClient.call("GET", target, at: socket)
            if answer.status == 200 { answers.append((target, answer.body)) }
        }
        try require(answers.count > 2 * Self.idCount, "the store has hardly anything")
    }

    /// Asks everything, but what was deleted meanwhile. Throws for a wrong byte.
    ///
    /// - Parameter isChanged: whether pages have other objects by now.
    /// - Returns: how many answers were refused or not there, or lacked objects.
    func ask(_ socket: String, without deleted: Set<String>, isChanged: Bool) throws -> Int {
        var missingCount = 0
        for (target, body) in answers
        where !deleted.contains(where: { target.hasPrefix("/v1/notifications/\($0)") }) {
            guard let answer = try? HTTPClient.call("GET", target, at: socket),
                answer.status == 200
            else {
                missingCount += 1
                continue
            }
            if answer.body == body || isChanged && target.contains("?") { continue }
            // A document that lacks some objects has hidden them; one that has others is wrong.
            let isDocument = !target.hasSuffix("/payload") && !target.hasSuffix("/icon")
            try require(
                isDocument && Self.isPart(answer.body, of: body),
                "\(target) has \(answer.body.count) bytes that were never stored")
            missingCount += 1
        }
        return missingCount
    }

    /// Whether all objects of a document, but how it ends, are in another.
    private static func isPart(_ part: [UInt8], of whole: [UInt8]) -> Bool {
        func objects(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
            bytes.split(separator: UInt8(ascii: "{")).map { $0.prefix { $0 != UInt8(ascii: "}") } }
        }
        let known = Set(objects(whole))
        // The first one is what stands before all objects.
        return objects(part).dropFirst().allSatisfy { known.contains($0) }
    }
}
