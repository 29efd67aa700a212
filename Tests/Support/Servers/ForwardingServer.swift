import Glibc

/// Sends a request to another server of HTTP on loopback, over a connection of its own, as a proxy does.
///
/// - Parameter leavingOut: names of headers in lower case that are not sent on.
/// - Returns: the whole answer, or nothing.
public func forward(
    _ request: ScriptedServer.Request, to port: UInt16, leavingOut: Set<String> = []
) -> [UInt8] {
    guard let descriptor = connectToLoopback(port: port) else { return [] }
    defer { close(descriptor) }
    let lines = request.head.filter { line in
        let name = line.prefix { $0 != ":" }.lowercased()
        return !leavingOut.contains(name) && name != "connection"
    }
    var bytes = Array((lines + ["Connection: close"]).joined(separator: "\r\n").utf8)
    bytes += [13, 10, 13, 10] + request.body
    var sent = 0
    while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return [] }
        sent += count
    }
    var answer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { return answer }
        answer += piece[..<count]
    }
}
