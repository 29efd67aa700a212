import BlobClient
import BlobProtocol
import Bytes
import Foundation
import TestSupport

/// How a test speaks with the daemon: HTTP, or the binary protocol's `call`.
enum TestDialect: String, CaseIterable {
    case http, call
}

/// A request for a resource, before it is one of a dialect.
struct TestRequest {
    var method: String
    var target: String
    var fields: [String: String]
    var body: [UInt8]?

    init(
        _ method: String, _ target: String, _ fields: [String: String] = [:], body: [UInt8]? = nil
    ) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// A request with a JSON document.
    init(_ method: String, _ target: String, _ document: String) {
        self.init(
            method, target, ["Content-Type": "application/json"], body: Array(document.utf8))
    }

    /// What is sent. Throws where a dialect cannot say it.
    func bytes(in dialect: TestDialect) throws -> [UInt8] {
        switch (method, dialect) {
        case ("RAW", _): return body ?? []
        case ("FOLLOW", .http):
            let accept = ["Accept": "text/event-stream"]
            return httpRequest("GET", target, fields.merging(accept) { own, _ in own })
        case (_, .http): return httpRequest(method, target, fields, body: body)
        case (_, .call): return try call()
        }
    }

    /// The frame, made without the checks of `Call.Request.compose`.
    private func call() throws -> [UInt8] {
        let isWatch = method == "FOLLOW"
        let name = isWatch ? "GET" : self.method
        guard let method = Call.Method.allCases.first(where: { "\($0)".uppercased() == name })
        else { throw TestFailure("\(name) cannot be called") }
        var condition = Call.Condition.none
        for (name, value) in fields {
            switch (name, value, UInt64(value.filter { $0 != "\"" })) {
            case ("Content-Type", _, _), ("Blobd-Device", _, _): break
            case ("If-Match", "*", _): condition = .exists
            case ("If-None-Match", "*", _): condition = .absent
            case ("If-Match", _, let revision?): condition = .revision(revision)
            default: throw TestFailure("\(name): \(value) cannot be called")
            }
        }
        let hasBody = method != .get && method != .delete
        let path = Array(target.utf8)
        let device = Array((fields["Blobd-Device"] ?? "").utf8)
        let type = hasBody ? Array((fields["Content-Type"] ?? "").utf8) : []
        var revision: UInt64 = 0
        if case .revision(let number) = condition { revision = number }
        var head: [UInt8] = [method.rawValue, UInt8(device.count)]
        head += [UInt8(path.count & 0xFF), UInt8(path.count >> 8), UInt8(type.count), 0, 0, 0]
        head += (0..<8).map { UInt8(truncatingIfNeeded: revision >> (8 * $0)) }
        head += [UInt8](repeating: 0, count: 8)
        return frame(
            .call, flags: condition.flags.union(isWatch ? .watch : []),
            head: head + path + device + type,
            body: body ?? [])
    }
}

/// A connection for requests in one of the dialects, whose answers it reads as HTTP has them.
final class TestConnection {
    let dialect: TestDialect
    let raw: RawClient
    /// Whether this was its last answer, or may have been.
    private(set) var isOver = false
    /// The methods that are not answered yet.
    private var methods: [String] = []
    private var isFollowing = false
    /// Changes that came and were not taken.
    private var told: [SeenChange] = []

    init(_ dialect: TestDialect, _ daemon: DaemonProcess) throws {
        self.dialect = dialect
        raw = dialect == .http ? try daemon.connect() : try daemon.connectBinary()
    }

    /// A connection to the device socket.
    init(device daemon: DaemonProcess) throws {
        dialect = .http
        raw = try RawClient(DeviceKeys.devicePath(daemon.folder))
    }

    func send(_ request: TestRequest, isBytewise: Bool = false) throws {
        methods.append(request.method)
        let bytes = try request.bytes(in: dialect)
        if isBytewise { for byte in bytes { raw.send([byte]) } } else { raw.send(bytes) }
    }

    func perform(_ request: TestRequest) throws -> HTTPAnswer {
        try send(request)
        return try answer()
    }

    /// The next answer; of a feed that is followed, its next change, whose status line is `told` and its words.
    func answer() throws -> HTTPAnswer {
        guard !isFollowing else { return try change() }
        let method = methods.isEmpty ? "" : methods.removeFirst()
        guard dialect == .http else {
            isFollowing = method == "FOLLOW"
            return isFollowing ? try change() : try seen(try raw.frameAnswer())
        }
        let answer = try raw.answer(isHead: method == "HEAD")
        isFollowing = method == "FOLLOW" && answer.status == 200
        isOver = answer["Connection"] == "close" && !isFollowing
        return isFollowing ? try change() : answer
    }

    private func seen(_ answer: FrameAnswer) throws -> HTTPAnswer {
        isOver = answer.status == 413
        var fields: [String: String] = [:]
        if answer.status < 400, answer.frame.opcode == Opcode.call.rawValue {
            let head = try Call.Response.parse(answer.head.span.bytes)
            if head.revision > 0 { fields["etag"] = "\"\(head.revision)\"" }
            let location = head.location.of(answer.head.span.bytes).text()
            if !location.isEmpty { fields["location"] = location }
        }
        return HTTPAnswer(
            status: Int(answer.status), statusLine: "", fields: fields, body: answer.body)
    }

    private func change() throws -> HTTPAnswer {
        while told.isEmpty {
            if dialect == .call {
                let answer = try raw.frameAnswer()
                guard answer.frame.continues else {
                    isFollowing = false
                    return try seen(answer)
                }
                told = try SeenPage(answer.body).changes
            } else {
                let event = try raw.event()
                guard let data = event.data else { continue }
                if let status = jsonMember(data, "status").flatMap({ Int($0) }) {
                    return HTTPAnswer(
                        status: status, statusLine: "", fields: [:], body: Array(data.utf8))
                }
                told = [try event.change]
            }
        }
        let change = told.removeFirst()
        return HTTPAnswer(
            status: 0, statusLine: "told \(change.words)", fields: [:],
            body: Array(change.text.utf8))
    }
}

/// A multipart body with the boundary `b`, as curl writes it. A name that begins with `-` is of a field that is no file.
func multipartBody(
    _ document: String?, files: [(name: String, type: String?, bytes: [UInt8])]
) -> [UInt8] {
    var body: [UInt8] = []
    func line(_ text: String) { body += Array("\(text)\r\n".utf8) }
    if let document {
        line("--b")
        line("Content-Disposition: form-data; name=\"notification\"")
        line("Content-Type: application/json")
        line("")
        line(document)
    }
    for file in files {
        line("--b")
        let isField = file.name.hasPrefix("-")
        line(
            "Content-Disposition: form-data; name=\"\(file.name.dropFirst(isField ? 1 : 0))\""
                + (isField ? "" : "; filename=\"a.bin\""))
        if let type = file.type { line("Content-Type: \(type)") }
        line("")
        body += file.bytes
        line("")
    }
    line("--b--")
    return body
}

/// The media type of ``multipartBody(_:files:)``.
let multipartType = "multipart/form-data; boundary=b"

/// The SHA-256 of some bytes in hexadecimal, as paths name blobs.
enum PayloadDigestText {
    static func of(_ bytes: [UInt8]) -> String {
        String(PayloadDigest(of: bytes.span.bytes).description.dropFirst("sha256:".count))
    }
}
