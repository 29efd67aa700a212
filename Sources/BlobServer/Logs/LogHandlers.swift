import BlobStore
import Bytes
import Glibc
package import Logging

/// Logs a JSON object in a line, to standard error.
package struct JSONLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]

    package init() {}

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var line: [UInt8] = []
        line.append("{\"time\":\"")
        RFC3339.append(Timestamp.now.milliseconds, to: &line)
        line.append("\",\"level\":")
        JSONText.append(event.level.rawValue, to: &line)
        line.append(",\"message\":")
        JSONText.append(event.message.description, to: &line)
        for (key, value) in LogFields.all(of: event, metadata) {
            line.append(",")
            JSONText.append(key, to: &line)
            line.append(":")
            JSONText.append(value, to: &line)
        }
        line.append("}\n")
        StandardError.write(line)
    }
}

/// The fields of a message: those of its logger, and its own.
enum LogFields {
    /// In the order of their names.
    static func all(
        of event: LogEvent, _ metadata: Logger.Metadata
    ) -> [(key: String, value: String)] {
        metadata.merging(event.metadata ?? [:]) { _, own in own }
            .map { (key: $0.key, value: "\($0.value)") }
            .sorted { $0.key < $1.key }
    }
}

extension LogFormat {
    /// A handler for a logger.
    ///
    /// - Parameter label: the logger's name.
    package func handler(_ label: String) -> any LogHandler {
        switch self {
        case .auto: (Self.isJournal ? LogFormat.journal : .text).handler(label)
        case .text: StreamLogHandler.standardError(label: label)
        case .json: JSONLogHandler()
        case .journal: JournalLogHandler()
        }
    }

    /// Whether standard error goes to the journal: `$JOURNAL_STREAM` has its device and inode
    /// (systemd.exec(5)).
    private static var isJournal: Bool {
        guard let text = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return String(cString: text) == "\(status.st_dev):\(status.st_ino)"
    }
}

/// Standard error, written to in whole lines.
enum StandardError {
    /// Writes a line (`write`). What cannot be written is lost: there is nowhere to say so.
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
