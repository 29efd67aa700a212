import TestSupport

/// An HTTP response as a test sees it.
struct HTTPAnswer {
    var status: Int
    var statusLine: String
    /// By name in lower case.
    var fields: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(_ field: String) -> String? { fields[field.lowercased()] }

    /// The `code` of a problem document.
    var code: String? {
        guard self["Content-Type"] == "application/problem+json" else { return nil }
        return member("code")
    }

    /// A member of a flat JSON object, as it is written, strings without their quotes.
    func member(_ name: String) -> String? { jsonMember(text, name) }
}

/// A member of a JSON object, found by its name, as it is written; strings without their quotes,
/// which must have no escapes.
func jsonMember(_ text: String, _ name: String) -> String? {
    guard let start = text.firstRange(of: "\"\(name)\":") else { return nil }
    let rest = text[start.upperBound...]
    if rest.first == "\"" { return String(rest.dropFirst().prefix { $0 != "\"" }) }
    return String(rest.prefix { $0 != "," && $0 != "}" && $0 != "]" })
}

/// The bytes of a request, with `Host` and, with a body, `Content-Length`.
func httpRequest(
    _ method: String, _ target: String, _ fields: [String: String] = [:], body: [UInt8]? = nil
) -> [UInt8] {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: b\r\n"
    for (name, value) in fields { head += "\(name): \(value)\r\n" }
    if let body { head += "Content-Length: \(body.count)\r\n" }
    return Array("\(head)\r\n".utf8) + (body ?? [])
}

extension RawClient {
    /// Sends a request with `Host` and, with a body, `Content-Length`, and returns the answer.
    func request(
        _ method: String, _ target: String, _ fields: [String: String] = [:], body: [UInt8]? = nil
    ) throws -> HTTPAnswer {
        sendRequest(method, target, fields, body: body)
        return try answer(isHead: method == "HEAD")
    }

    /// Sends a request and does not wait.
    func sendRequest(
        _ method: String, _ target: String, _ fields: [String: String] = [:], body: [UInt8]? = nil
    ) {
        send(httpRequest(method, target, fields, body: body))
    }

    /// Receives the next answer.
    func answer(isHead: Bool = false) throws -> HTTPAnswer {
        let head = String(decoding: try receive(upTo: Array("\r\n\r\n".utf8)), as: UTF8.self)
        var lines = head.split(separator: "\r\n")
        let statusLine = String(lines.removeFirst())
        let words = statusLine.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw TestFailure("not a status line: \(head)")
        }
        var fields: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts.count > 1 ? parts[1].trimming { $0 == " " } : ""
            let name = parts[0].lowercased()
            fields[name] = fields[name].map { "\($0), \(value)" } ?? value
        }
        var body: [UInt8] = []
        let isStream = fields["content-type"] == "text/event-stream"
        if !isHead, !isStream, status >= 200, status != 204, status != 304 {
            guard let count = fields["content-length"].flatMap({ Int($0) }) else {
                throw TestFailure("an answer without Content-Length: \(head)")
            }
            body = try receive(count)
        }
        return HTTPAnswer(status: status, statusLine: statusLine, fields: fields, body: body)
    }

    /// Publishes a payload for an id over this connection.
    @discardableResult
    func put(
        _ id: String, _ body: [UInt8], type: String = "image/jpeg", query: String = ""
    ) throws -> HTTPAnswer {
        try request(
            "PUT", "/v1/notifications/\(id)/payload\(query)", ["Content-Type": type], body: body)
    }
}

extension DaemonProcess {
    /// One request over a connection of its own.
    func request(
        _ method: String, _ target: String, _ fields: [String: String] = [:], body: [UInt8]? = nil
    ) throws -> HTTPAnswer {
        try connect().request(method, target, fields, body: body)
    }

    /// Publishes a payload over a connection of its own.
    @discardableResult
    func put(
        _ id: String, _ body: [UInt8], type: String = "image/jpeg", query: String = ""
    ) throws -> HTTPAnswer {
        try connect().put(id, body, type: type, query: query)
    }

    /// A number of `/v1/stats`.
    func statistic(_ name: String) throws -> Int {
        let answer = try request("GET", "/v1/stats")
        guard let text = answer.member(name), let number = Int(text) else {
            throw TestFailure("no \(name) in \(answer.text)")
        }
        return number
    }

    /// Asks for a statistic again and again until `condition` holds; the test fails when it never
    /// does.
    func waitUntil(_ name: String, _ condition: (Int) -> Bool) throws {
        let deadline = Patience()
        while true {
            let value = try statistic(name)
            if condition(value) { return }
            try deadline.wait(orThrow: "\(name) stays \(value)")
        }
    }
}

extension Substring {
    /// Without what is blank at either end: neither is part of a value (RFC 9112, section 5).
    fileprivate func trimming(_ isBlank: (Character) -> Bool) -> String {
        var rest = drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }
}
