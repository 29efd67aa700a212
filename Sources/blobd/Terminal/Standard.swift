import FoundationEssentials
import Glibc

/// Standard output. A failed write is an error.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether escape sequences may be written: to a terminal, but not to a `dumb` one, and not if its user wants none
    /// (no-color.org). Standard error gets none.
    static var takesEscapes: Bool {
        func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
        return isTerminal && variable("TERM") != "dumb" && variable("NO_COLOR").isEmpty
    }

    /// Of the terminal, in characters.
    static var size: (width: Int, height: Int) { terminalSize(of: STDOUT_FILENO) }

    /// - Parameter status: that of a failure. A command whose `.refused` is a verdict needs another.
    static func write(
        _ text: String, orExit status: ExitStatus = .refused
    ) throws(CommandFailure) {
        let bytes = Array(text.utf8)
        try write(bytes.span.bytes, orExit: status)
    }

    static func write(
        _ bytes: RawSpan, orExit status: ExitStatus = .refused
    ) throws(CommandFailure) {
        if let code = writeAll(bytes, to: STDOUT_FILENO) {
            throw CommandFailure(status, "standard output: \(errorText(code))")
        }
    }

    static func writeLine(_ bytes: [UInt8]) throws(CommandFailure) {
        try write(bytes.span.bytes)
        try write("\n")
    }
}

/// Standard error. A failed write is ignored.
enum StandardError {
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var width: Int { terminalSize(of: STDERR_FILENO).width }

    /// Writes what a user should know, but did not ask for.
    static func note(_ text: String) { write("blobd: \(text)\n") }

    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = writeAll(bytes.span.bytes, to: STDERR_FILENO)
    }
}

private func terminalSize(of descriptor: CInt) -> (width: Int, height: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
    else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
}

/// Writes all bytes to a file descriptor. Returns the `errno` of a failure, or nil.
func writeAll(_ bytes: RawSpan, to descriptor: CInt) -> CInt? {
    var offset = 0
    while offset < bytes.byteCount {
        // `Glibc.write` reads the rest of the span during the call and keeps no pointer to it.
        let count = bytes.extracting(offset..<bytes.byteCount).withUnsafeBytes {
            Glibc.write(descriptor, $0.baseAddress, $0.count)
        }
        if count > 0 {
            offset += count
        } else if errno == EAGAIN {
            var entry = pollfd(fd: descriptor, events: CShort(POLLOUT), revents: 0)
            _ = poll(&entry, 1, 1_000)
        } else if errno != EINTR {
            return errno
        }
    }
    return nil
}

func errorText(_ code: CInt) -> String {
    // Copied at once: `strerror` may reuse its buffer.
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}

/// JSON output of commands: one document per line, members in snake case and in a fixed order.
enum JSONLine {
    static func text(_ value: some Encodable) throws(CommandFailure) -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            throw CommandFailure(.refused, "the result cannot be written as JSON")
        }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    static func object(_ object: JSONObject) throws(CommandFailure) -> String { try text(object) }
}

/// A JSON object. Members that are nil are omitted.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    private struct Member: Encodable {
        let value: any Encodable

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    private var members: [String: Member] = [:]

    init(dictionaryLiteral members: (String, (any Encodable)?)...) {
        for (name, value) in members { self[name] = value }
    }

    subscript(name: String) -> (any Encodable)? {
        get { members[name]?.value }
        set { members[name] = newValue.map { Member(value: $0) } }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(members)
    }
}
