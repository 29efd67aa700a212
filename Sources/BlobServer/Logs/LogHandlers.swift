import BlobStore
import Bytes
import CLinux
import Glibc
package import Logging

package struct FieldLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    fileprivate let write: @Sendable (LogEvent, _ fields: [(key: String, value: String)]) -> Void

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Logs the fields of the logger and of the message, sorted by name.
    package func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { _, own in own }
            .map { (key: $0.key, value: "\($0.value)") }
        write(event, fields.sorted { $0.key < $1.key })
    }

    /// Logs one JSON object per line to standard error.
    package static let json = FieldLogHandler { event, fields in
        var line: [UInt8] = []
        line.object {
            $0.add("time", moment: Timestamp.now.milliseconds)
            $0.add("level", event.level.rawValue)
            $0.add("message", event.message.description)
            for (key, value) in fields { $0.add(key, value) }
        }
        line.append("\n")
        StandardError.write(line)
    }

    /// Logs to systemd's journal: a datagram of `FIELD=value` lines. If that fails, a message goes to standard error.
    package static func journal(_ path: String = "/run/systemd/journal/socket") -> Self {
        FieldLogHandler { event, fields in
            var datagram = JournalDatagram()
            datagram.append("MESSAGE", event.message.description)
            datagram.append("PRIORITY", "\(event.level.priority)")
            datagram.append("SYSLOG_IDENTIFIER", "blobd")
            for (key, value) in fields { datagram.append("BLOBD_" + key, value) }
            if !datagram.send(to: path) {
                StandardError.write(Array("\(event.level.rawValue): \(event.message)\n".utf8))
            }
        }
    }
}

private struct JournalDatagram {
    private var bytes: [UInt8] = []

    /// A value with line ends is sent with its length.
    mutating func append(_ name: String, _ value: String) {
        bytes.append(
            text: String(
                name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }))
        if value.utf8.contains(UInt8(ascii: "\n")) {
            bytes.append("\n")
            var count = UInt64(value.utf8.count).littleEndian
            withUnsafeBytes(of: &count) { bytes.append(contentsOf: $0) }
        } else {
            bytes.append("=")
        }
        bytes.append(text: value)
        bytes.append("\n")
    }

    func send(to path: String) -> Bool {
        path.utf8.count < Int(CLINUX_PATH_MAX)
            && clinux_send_datagram(Array(path.utf8), path.utf8.count, bytes, bytes.count) == 0
    }
}

extension Logger.Level {
    /// The severity of syslog (RFC 5424, section 6.2.1).
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

extension LogFormat {
    package func handler(_ label: String) -> any LogHandler {
        switch self {
        case .auto: (Self.isJournal ? LogFormat.journal : .text).handler(label)
        case .text: StreamLogHandler.standardError(label: label)
        case .json: FieldLogHandler.json
        case .journal: FieldLogHandler.journal()
        }
    }

    /// Whether standard error is connected to the journal: `$JOURNAL_STREAM` contains its device and inode
    /// (systemd.exec(5)).
    private static var isJournal: Bool {
        guard let text = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return String(cString: text) == "\(status.st_dev):\(status.st_ino)"
    }
}

/// Standard error, written to in whole lines.
private enum StandardError {
    /// Writes a line (`write`). If that fails, the line is lost: there is nowhere to report it.
    static func write(_ line: [UInt8]) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
