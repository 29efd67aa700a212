import BlobClient
import BlobJSON
import BlobProtocol
import Bytes

/// A request for a resource, which a test sends in either dialect.
struct ResourceCall {
    var method: Call.Method
    var target: String
    var body: [UInt8] = []
    var mediaType: String? = "application/json"
    var device: String?
    var condition = Call.Condition.none

    init(
        _ method: Call.Method, _ target: String, _ body: String = "",
        type: String? = "application/json", device: String? = nil,
        condition: Call.Condition = .none
    ) {
        self.init(
            method, target, bytes: Array(body.utf8), type: type, device: device,
            condition: condition)
    }

    init(
        _ method: Call.Method, _ target: String, bytes: [UInt8],
        type: String? = "application/json", device: String? = nil,
        condition: Call.Condition = .none
    ) {
        self.method = method
        self.target = target
        body = bytes
        mediaType = type
        self.device = device
        self.condition = condition
    }
}

/// What came back, whatever the dialect.
struct ResourceReplySeen {
    var status: Int
    /// The revision of the notification; nil: none.
    var revision: UInt64?
    var location: String?
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
    /// The document. Throws when the body is none.
    var document: JSONValue {
        get throws { try JSONValue.parse(body.span.bytes) }
    }
    /// The `code` of a problem.
    var code: String? {
        guard status >= 400, case .string(let code)? = (try? document)?["code"] else { return nil }
        return code
    }
}

/// How a test speaks with the daemon.
enum TestDialect: String, CaseIterable {
    case http, call
}

/// A connection for requests for resources.
final class ResourceClient {
    let dialect: TestDialect
    private let daemon: DaemonProcess
    private var client: RawClient

    init(_ dialect: TestDialect, _ daemon: DaemonProcess) throws {
        self.dialect = dialect
        self.daemon = daemon
        client = dialect == .http ? try daemon.connect() : try daemon.connectBinary()
    }

    /// Sends a request and receives its answer. After an answer that ends the connection the next
    /// request uses a new one.
    func perform(_ call: ResourceCall) throws -> ResourceReplySeen {
        switch dialect {
        case .http: return try overHTTP(call)
        case .call:
            let answer = try client.exchange(Self.frame(call))
            if answer.status == 413 { client = try daemon.connectBinary() }
            guard answer.status < 400 else {
                return ResourceReplySeen(status: Int(answer.status), body: answer.body)
            }
            let head = try Call.Response.parse(answer.head.span.bytes)
            return ResourceReplySeen(
                status: Int(answer.status), revision: head.revision == 0 ? nil : head.revision,
                location: head.location.isEmpty
                    ? nil : head.location.of(answer.head.span.bytes).text(),
                body: answer.body)
        }
    }

    private func overHTTP(_ call: ResourceCall) throws -> ResourceReplySeen {
        var fields: [String: String] = [:]
        let hasBody = call.method != .get && call.method != .delete
        if hasBody { fields["Content-Type"] = call.mediaType }
        fields["Blobd-Device"] = call.device
        switch call.condition {
        case .none: break
        case .revision(let revision): fields["If-Match"] = "\"\(revision)\""
        case .absent: fields["If-None-Match"] = "*"
        case .exists: fields["If-Match"] = "*"
        }
        let answer = try client.request(
            "\(call.method)".uppercased(), call.target, fields, body: hasBody ? call.body : nil)
        if answer["Connection"] == "close" { client = try daemon.connect() }
        return ResourceReplySeen(
            status: answer.status,
            revision: answer["ETag"].flatMap { UInt64($0.filter { $0 != "\"" }) },
            location: answer["Location"], body: answer.body)
    }

    /// The frame, made without the checks of `Call.Request.compose`.
    private static func frame(_ call: ResourceCall) -> [UInt8] {
        let hasBody = call.method != .get && call.method != .delete
        let target = Array(call.target.utf8)
        let device = Array((call.device ?? "").utf8)
        let type = hasBody ? Array((call.mediaType ?? "").utf8) : []
        var revision: UInt64 = 0
        if case .revision(let number) = call.condition { revision = number }
        var head: [UInt8] = [call.method.rawValue, UInt8(device.count)]
        head += [UInt8(target.count & 0xFF), UInt8(target.count >> 8), UInt8(type.count), 0, 0, 0]
        head += (0..<8).map { UInt8(truncatingIfNeeded: revision >> (8 * $0)) }
        head += [UInt8](repeating: 0, count: 8)
        return blobdTests.frame(
            .call, flags: call.condition.flags, head: head + target + device + type,
            body: hasBody ? call.body : [])
    }
}

/// A multipart body with the boundary `b`, as curl writes it.
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
        line("Content-Disposition: form-data; name=\"\(file.name)\"; filename=\"a.bin\"")
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
