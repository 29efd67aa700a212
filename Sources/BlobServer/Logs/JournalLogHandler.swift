import Bytes
import Glibc
package import Logging

/// Logs to systemd's journal with its native protocol: a datagram of `FIELD=value` lines to
/// `/run/systemd/journal/socket`. A message goes to standard error where the journal does not take it.
package struct JournalLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    private let path: String

    /// Logs to the journal's socket.
    package init(path: String = JournalLogHandler.socketPath) { self.path = path }

    /// Where the journal listens.
    package static let socketPath = "/run/systemd/journal/socket"

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var datagram: [UInt8] = []
        Self.append("MESSAGE", event.message.description, to: &datagram)
        Self.append("PRIORITY", "\(event.level.priority)", to: &datagram)
        Self.append("SYSLOG_IDENTIFIER", "blobd", to: &datagram)
        for (key, value) in LogFields.all(of: event, metadata) {
            Self.append("BLOBD_" + Self.name(key), value, to: &datagram)
        }
        if !send(datagram) {
            StandardError.write(Array("\(event.level.rawValue): \(event.message)\n".utf8))
        }
    }

    /// A field's name as the journal takes it: capitals, digits and underscores.
    private static func name(_ key: String) -> String {
        String(
            key.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    /// A line; a value with line ends goes with its length.
    private static func append(_ name: String, _ value: String, to out: inout [UInt8]) {
        out.append(text: name)
        if value.utf8.contains(UInt8(ascii: "\n")) {
            out.append("\n")
            var count = UInt64(value.utf8.count).littleEndian
            withUnsafeBytes(of: &count) { out.append(contentsOf: $0) }
        } else {
            out.append("=")
        }
        out.append(text: value)
        out.append("\n")
    }

    private func send(_ datagram: [UInt8]) -> Bool {
        let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { return false }
        defer { close(number) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let count = datagram.withUnsafeBytes { datagram in
            withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(
                        number, datagram.baseAddress, datagram.count, Int32(MSG_NOSIGNAL),
                        $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        return count == datagram.count
    }
}

extension Logger.Level {
    /// syslog's number for it (RFC 5424, section 6.2.1).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
