import TestSupport

/// As much of an HTTP/1.1 client as the scenarios need.
enum HTTPClient {
    /// The bytes of a request.
    static func request(
        _ method: String, _ target: String, _ fields: [String] = [], _ body: [UInt8]? = nil
    ) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: b\r\n"
        for field in fields { head += "\(field)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        return Array("\(head)\r\n".utf8) + (body ?? [])
    }

    /// A request on a connection of its own, and its whole answer. Throws when there is none, and when it is cut
    /// short, since the daemon has ended or found damage in it.
    static func call(
        _ method: String, _ target: String, type: String = "", _ body: [UInt8] = [], at path: String
    ) throws -> WholeAnswer {
        let socket = try RawSocket.connect(to: path, withinMilliseconds: 30_000)
        let sendsBody = method != "GET" && method != "DELETE"
        return try socket.ask(
            request(
                method, target, type.isEmpty ? [] : ["Content-Type: \(type)"],
                sendsBody ? body : nil))
    }

    /// The numbers of `/metrics`, by their names with their labels.
    static func metrics(of socketPath: String) throws -> [String: Int] {
        var numbers: [String: Int] = [:]
        for line in try call("GET", "/metrics", at: socketPath).text.split(separator: "\n") {
            guard let space = line.lastIndex(of: " "),
                let number = Int(line[line.index(after: space)...])
            else { continue }
            numbers[String(line[..<space])] = number
        }
        return numbers
    }
}
