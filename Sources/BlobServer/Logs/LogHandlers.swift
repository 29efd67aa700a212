import BlobStore
import Bytes
import Glibc
package import Logging

package struct FieldLogHandler: LogHandler {
    typealias Fields = [(key: String, value: String)]

    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    fileprivate let output: LogOutput
    /// Composes a message as the output has it.
    fileprivate let compose: @Sendable (LogEvent, Fields) -> [UInt8]
    /// Whether what the output does not accept goes to standard error.
    fileprivate var hasFallback = false

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Logs the fields of the logger and of the message, sorted by name. Never waits: see ``LogOutput``.
    package func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { _, own in own }
            .map { (key: $0.key, value: "\($0.value)") }
            .sorted { $0.key < $1.key }
        let compose = compose
        func note(_ count: Int) -> [UInt8] {
            compose(
                LogEvent(
                    level: .warning,
                    message: "\(count) log messages were dropped: slow reader or full disk",
                    metadata: nil, source: event.source, file: #fileID, function: #function,
                    line: #line), [])
        }
        output.write(
            compose(event, fields), note: note,
            orElse: hasFallback ? { Self.plain.log(event: event) } : nil)
    }

    /// Logs lines of text to standard error, as swift-log does.
    static func text(_ label: String) -> FieldLogHandler {
        FieldLogHandler(output: .standardError) { event, fields in
            let words = fields.map { " \($0.key)=\($0.value)" }.joined()
            return Array(
                "\(localTime()) \(event.level) \(label):\(words) [\(event.source)] \(event.message)\n"
                    .utf8)
        }
    }

    private static func localTime() -> String {
        var now = time(nil)
        var parts = tm()
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%FT%T%z", localtime_r(&now, &parts))
        return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Logs one JSON object per line to standard error.
    package static let json = FieldLogHandler(output: .standardError) { event, fields in
        var line: [UInt8] = []
        line.object {
            $0.add("time", moment: Timestamp.now.milliseconds)
            $0.add("level", event.level.rawValue)
            $0.add("message", event.message.description)
            for (key, value) in fields { $0.add(key, value) }
        }
        line.append("\n")
        return line
    }

    /// Logs to systemd's journal: a datagram of `FIELD=value` lines. If that fails, a message goes to standard error.
    package static func journal(_ path: String = "/run/systemd/journal/socket") -> Self {
        var handler = FieldLogHandler(output: LogOutput(JournalTarget(path: path))) {
            event, fields in
            var datagram = JournalDatagram()
            datagram.append("MESSAGE", event.message.description)
            datagram.append("PRIORITY", "\(event.level.priority)")
            datagram.append("SYSLOG_IDENTIFIER", "blobd")
            for (key, value) in fields { datagram.append("BLOBD_" + key, value) }
            return datagram.bytes
        }
        handler.hasFallback = true
        return handler
    }

    private static let plain = FieldLogHandler(output: .standardError) { event, _ in
        Array("\(event.level.rawValue): \(event.message)\n".utf8)
    }
}

private struct JournalDatagram {
    private(set) var bytes: [UInt8] = []

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
        case .text: FieldLogHandler.text(label)
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
