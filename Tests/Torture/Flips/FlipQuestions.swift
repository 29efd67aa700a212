import Glibc
import TestSupport

/// What a store is asked, and what it says while it is whole.
struct FlipQuestions {
    /// Payloads are compared byte by byte. Documents are compared object by object: one that lacks
    /// some has hidden them, one that has others is wrong.
    enum Kind { case payload, document }

    struct Question {
        var target: String
        var kind: Kind
        var answer: [UInt8] = []
    }

    private(set) var questions: [Question] = []

    /// Makes a store with every kind of entry, through a daemon that runs.
    static func fill(_ socket: String) throws {
        func call(
            _ method: String, _ target: String, _ type: String, _ body: [UInt8], _ statuses: [Int]
        ) throws {
            let answer = try HTTPClient.call(method, target, type: type, body, at: socket)
            try require(
                statuses.contains(answer.status),
                "\(method) \(target): \(String(decoding: answer.body, as: UTF8.self))")
        }
        func json(_ method: String, _ target: String, _ text: String, _ statuses: [Int]) throws {
            try call(method, target, "application/json", Array(text.utf8), statuses)
        }
        let buttons =
            #"{"actions":[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]}"#
        for name in ["ask", "tell"] {
            try json("PUT", "/v1/categories/\(name)", buttons, [200, 201])
        }
        for index in 0..<idCount {
            let document =
                #"{"owner":"owner-\#(index % 3)","message":"message \#(index)","category":"ask","group":"g\#(index % 2)","data":{"n":\#(index)},"ttl":86400}"#
            try json("PUT", "/v1/notifications/n\(index)", document, [200, 201])
            let payload = payload(index)
            try call(
                "PUT", "/v1/notifications/n\(index)/payload", payload.mediaType, payload.bytes(),
                [200, 201])
            if index % 4 == 0 {
                let icon = Payload(seed: UInt64(index), byteCount: 300, kind: .noise)
                try call(
                    "PUT", "/v1/notifications/n\(index)/parts/icon", icon.mediaType, icon.bytes(),
                    [200, 201])
            }
        }
        for index in stride(from: 1, to: idCount, by: 5) {
            let response = #"{"action":"yes","key":"k\#(index)"}"#
            try json("POST", "/v1/notifications/n\(index)/responses", response, [200, 201])
        }
        for index in stride(from: 3, to: idCount, by: 6) {
            try call("DELETE", "/v1/notifications/n\(index)", "", [], [204])
        }
        // Held, and referred to by nothing.
        let held = Payload(seed: 77, byteCount: 5_000, kind: .noise)
        let digest = "\(held.digest())"
        try call("PUT", "/v1/blobs/\(digest)?ttl=86400", held.mediaType, held.bytes(), [200, 201])
    }

    static let idCount = 30

    private static func payload(_ index: Int) -> Payload {
        let byteCounts = [40, 700, 1_900, 3_000, 9_000, 70_000, 140_000]
        return Payload(
            seed: UInt64(1_000 + index), byteCount: byteCounts[index % byteCounts.count],
            kind: index % 3 == 1 ? .text : .noise)
    }

    /// Asks a whole store everything.
    init(of socket: String) throws {
        for index in 0..<Self.idCount {
            questions.append(
                Question(target: "/v1/notifications/n\(index)/payload", kind: .payload))
            questions.append(Question(target: "/v1/notifications/n\(index)", kind: .document))
            if index % 4 == 0 {
                questions.append(
                    Question(target: "/v1/notifications/n\(index)/parts/icon", kind: .payload))
            }
        }
        for owner in 0..<3 {
            for page in ["notifications", "changes"] {
                questions.append(
                    Question(target: "/v1/users/owner-\(owner)/\(page)?limit=1000", kind: .document)
                )
            }
        }
        questions.append(Question(target: "/v1/categories", kind: .document))
        var asked: [Question] = []
        for var question in questions {
            let answer = try HTTPClient.call("GET", question.target, at: socket)
            guard answer.status == 200 else { continue }
            question.answer = answer.body
            asked.append(question)
        }
        questions = asked
        try require(asked.count > Self.idCount, "the store has hardly anything")
    }

    /// What became of the answers of a damaged store.
    struct Findings {
        var wrong: String?
        /// Answers that were refused or not there.
        var refusals = 0
        /// Pages with fewer objects than there were.
        var hidden = 0
    }

    /// Asks everything, but what was deleted meanwhile. Ends early when the daemon does.
    ///
    /// - Parameter isChanged: whether pages have other objects by now.
    func ask(
        _ socket: String, without deleted: Set<String>, isChanged: Bool
    ) throws -> Findings {
        var findings = Findings()
        for question in questions {
            if deleted.contains(where: { question.target.hasPrefix("/v1/notifications/\($0)") }) {
                continue
            }
            guard let answer = try? HTTPClient.call("GET", question.target, at: socket) else {
                findings.refusals += 1
                continue
            }
            guard answer.status == 200 else {
                findings.refusals += 1
                continue
            }
            if answer.body == question.answer { continue }
            if isChanged, question.target.contains("?") { continue }
            if question.kind == .document, Self.isPart(answer.body, of: question.answer) {
                findings.hidden += 1
                continue
            }
            findings.wrong =
                "\(question.target) has \(answer.body.count) bytes that were never stored"
            return findings
        }
        return findings
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
