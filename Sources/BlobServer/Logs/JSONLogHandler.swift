import BlobStore
import Bytes
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
