// A backend's and a device's part with blobd, in Swift: blobd-client-example SOCKET PICTURE KEYS
import BlobClient
import BlobProtocol
import Foundation

let socketPath = CommandLine.arguments[1]
let client = BlobdClient(socketPath: socketPath)

// Publish: the document and its picture are stored in one transaction.
let picture = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[2]))
var upload = NotificationUpload(id: "42", owner: "ann", message: "Look who is here")
upload.richType = "img"
upload.lifetime = .seconds(3_600)
upload.parts = [.init(mediaType: "image/jpeg", .bytes(Array(picture)))]
let published = try await client.call(.publish(upload))
print("published:", published.isCreated ? 201 : 200)

// The push for APNs. Send it as it is; it has the id, not the picture.
let push = try await client.call(.envelope("42", .apns, style: .alert))
print("push:", String(decoding: push.bytes, as: UTF8.self))

// Fetch: the client has compared the bytes with their digest.
if let payload = try await client.get("42") {
    print("fetched:", payload.bytes.count, "bytes,", payload.info.digest)
}

// Follow the feed: all changes first, then those after the cursor. The second call waits for one.
// (client.changes(of:since:) is an endless sequence of them, which reconnects.)
let cursor = try await follow("0")
try await client.call(.patch("42", PatchRequest(isRead: true), device: "phone"))
_ = try await follow(cursor, waitSeconds: 30)

// A signed link, with which a device fetches by itself: through nginx from the device socket.
let keys = try SigningKeys(
    parsing: Array(try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[3]))))
let expiry = Int64(Date().timeIntervalSince1970) + 3_600
let link = try SignedLink(to: .payload(id: "42"), expiresAt: expiry, keys: keys)
let answer = try get(link.text)
print("by link:", answer.status, answer.byteCount, "bytes")

/// Prints the changes after a cursor, page by page. Returns the cursor after them.
func follow(_ cursor: String, waitSeconds: Int = 0) async throws -> String {
    let page = try await client.call(
        .changes(of: "ann", since: cursor, limit: 100, waitSeconds: waitSeconds))
    for change in page.changes {
        print("change: \(change.kind) \(change.id)\(change.device.map { " by \($0)" } ?? "")")
    }
    return page.hasMore ? try await follow(page.next) : page.next
}

/// What the device's side of nginx does: a request of HTTP/1.0, whose answer ends with the connection.
func get(_ target: String) throws -> (status: String, byteCount: Int) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
    let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    guard result == 0 else { throw POSIXError(.ECONNREFUSED) }
    let connection = FileHandle(fileDescriptor: descriptor)
    try connection.write(contentsOf: Data("GET \(target) HTTP/1.0\r\nHost: blobd\r\n\r\n".utf8))
    let bytes = try connection.readToEnd() ?? Data()
    guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { throw POSIXError(.EPROTO) }
    let words = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: " ")
    return (String(words[1]), bytes[end.upperBound...].count)
}
