import BlobJSON
import TestSupport

/// A change as a test sees it.
struct SeenChange: Equatable {
    var kind: String
    var id: String
    var revision: Int64
    var cursor: String
    var device: String?
    /// The record; nil when it is gone.
    var notification: JSONValue?
    /// Of a category: what is said of it. Its name is the id.
    var category: JSONValue?
    /// All of it.
    let text: String

    init(_ value: JSONValue) throws {
        var bytes: [UInt8] = []
        value.append(to: &bytes)
        text = String(decoding: bytes, as: UTF8.self)
        category = value["category"]
        guard let kind = value["kind"]?.text, let id = (value["id"] ?? category?["name"])?.text,
            case .number(let revision)? = value["revision"], let number = revision.integer,
            let cursor = value["cursor"]?.text
        else { throw TestFailure("not a change: \(value)") }
        self.kind = kind
        self.id = id
        self.revision = number
        self.cursor = cursor
        device = value["device"]?.text
        notification = value["notification"]
    }

    /// `updated 42`.
    var words: String { "\(kind) \(id)" }
}

/// A page of changes as a test sees it.
struct SeenPage {
    var changes: [SeenChange]
    var next: String
    var hasMore: Bool

    /// A page of changes or of a list, as JSON.
    static func document(_ body: [UInt8]) throws -> JSONValue {
        var limits = JSONLimits()
        limits.byteCountMax = 8 << 20
        limits.memberCountMax = .max
        limits.depthMax += 16
        return try JSONValue.parse(body.span.bytes, limits: limits)
    }

    init(_ body: [UInt8]) throws {
        let value = try Self.document(body)
        guard case .array(let changes)? = value["changes"], let next = value["next"]?.text,
            case .bool(let hasMore)? = value["more"]
        else { throw TestFailure("not a page: \(String(decoding: body, as: UTF8.self))") }
        self.changes = try changes.map { try SeenChange($0) }
        self.next = next
        self.hasMore = hasMore
    }

    /// `published 42`, for each change.
    var words: [String] { changes.map(\.words) }
}

extension JSONValue {
    /// A string's text.
    var text: String? {
        if case .string(let text) = self { return text }
        return nil
    }
}

/// An event of a stream.
struct SeenEvent {
    var id: String?
    var name: String?
    var data: String?
    /// The change in its data.
    var change: SeenChange {
        get throws { try SeenChange(try JSONValue.parse(Array((data ?? "").utf8).span.bytes)) }
    }
}

extension RawClient {
    /// A page of an owner's changes.
    func changes(of owner: String, since: String, query: String = "") throws -> SeenPage {
        let answer = try request("GET", "/v1/users/\(owner)/changes?since=\(since)\(query)")
        guard answer.status == 200 else { throw TestFailure("\(answer.status) \(answer.text)") }
        return try SeenPage(answer.body)
    }

    /// Begins a stream of an owner's changes and receives its head.
    func beginEvents(of owner: String, since: String) throws {
        send(
            try TestRequest("FOLLOW", "/v1/users/\(owner)/changes?since=\(since)").bytes(in: .http))
        let head = try answer()
        guard head.status == 200 else { throw TestFailure(head.text) }
    }

    /// The next event of a stream, or a sign of life.
    func event() throws -> SeenEvent {
        let block = String(decoding: try receive(upTo: Array("\n\n".utf8)), as: UTF8.self)
        var event = SeenEvent()
        for line in block.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, parts[1].hasPrefix(" ") else {
                throw TestFailure("not a line of an event: \(line)")
            }
            let value = String(parts[1].dropFirst())
            switch parts[0] {
            case "id": event.id = value
            case "event": event.name = value
            case "data": event.data = value
            default: throw TestFailure("not a line of an event: \(line)")
            }
        }
        return event
    }

    /// The next event that has data.
    func change() throws -> SeenChange {
        while true {
            let event = try event()
            guard event.data != nil else { continue }
            let change = try event.change
            guard event.name == change.kind, event.id == change.cursor else {
                throw TestFailure("an event that says two things: \(event)")
            }
            return change
        }
    }
}
