import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A notification's record, also in pages, histories and changes. Written byte by byte: its members and their order
/// are always the same. Optional members that are absent are left out.
enum RecordDocument {
    static let usualByteCount = 512

    private static let first: [TextField] = [.owner, .app, .title, .message, .richType]
    /// Texts without a place of their own, after the platforms.
    private static let later = TextField.allCases.filter {
        !first.contains($0) && ![.category, .group, .device].contains($0)
    }

    static func append(_ record: Record, to out: inout [UInt8]) {
        out.append("{\"id\":")
        JSONText.append(record.id, to: &out)
        for field in first { append(field, record[field], to: &out) }
        out.append(",\"created_at\":\"")
        RFC3339.append(record.createdAt.milliseconds, to: &out)
        out.append("\",\"expires_at\":\"")
        RFC3339.append(record.expiresAt.milliseconds, to: &out)
        out.append("\",\"revision\":")
        Decimal.append(record.revision, to: &out)
        out.append(",\"parts\":[")
        for (index, part) in record.parts.enumerated() {
            if index > 0 { out.append(",") }
            append(part, to: &out)
        }
        out.append("]")
        append(record.details, to: &out)
        out.append("}")
    }

    private static func append(_ part: Part, to out: inout [UInt8]) {
        out.append("{\"name\":")
        JSONText.append(part.name, to: &out)
        out.append(",\"media_type\":")
        JSONText.append(part.mediaType, to: &out)
        out.append(",\"digest\":\"")
        part.digest.appendText(to: &out)
        out.append("\",\"byte_count\":")
        Decimal.append(UInt64(part.byteCount), to: &out)
        out.append(",\"stored_byte_count\":")
        Decimal.append(UInt64(part.storedByteCount), to: &out)
        out.append(",\"coding\":")
        JSONText.append(part.coding.name, to: &out)
        out.append("}")
    }

    /// What it says and what became of it. Priority, `read` and `action_state` are always there.
    private static func append(_ details: NotificationDetails, to out: inout [UInt8]) {
        append(.category, details.category, to: &out)
        if details.categoryRevision > 0 {
            out.append(",\"category_revision\":")
            Decimal.append(details.categoryRevision, to: &out)
        }
        if let actions = details.actions {
            out.append(",\"actions\":")
            ActionsDocument.append(actions, to: &out)
        }
        append(.group, details.group, to: &out)
        if !details.platforms.isEmpty {
            out.append(",\"platforms\":")
            JSONText.append(details.platforms, to: &out)
        }
        for field in later { append(field, details[field], to: &out) }
        append(",\"priority\":", details.priority.name, to: &out)
        if details.displayTTLSeconds > 0 {
            out.append(",\"display_ttl\":")
            Decimal.append(UInt64(details.displayTTLSeconds), to: &out)
        }
        if let data = details.data {
            out.append(",\"data\":")
            out.append(contentsOf: data.bytes)
        }
        out.append(details.isRead ? ",\"read\":true" : ",\"read\":false")
        append(",\"action_state\":", details.actionState.name, to: &out)
        append(.device, details.device, to: &out)
        guard !details.responses.isEmpty else { return }
        out.append(",\"responses\":[")
        for (index, response) in details.responses.enumerated() {
            if index > 0 { out.append(",") }
            append(response, to: &out)
        }
        out.append("]")
    }

    private static func append(_ response: RecordedResponse, to out: inout [UInt8]) {
        out.append("{\"action\":")
        JSONText.append(response.action, to: &out)
        append(",\"key\":", response.key, to: &out)
        append(",\"device\":", response.device, to: &out)
        out.append(",\"at\":\"")
        RFC3339.append(response.at.milliseconds, to: &out)
        out.append("\",\"revision\":")
        Decimal.append(response.revision, to: &out)
        out.append(response.staysOnScreen ? ",\"dismissed\":false" : ",\"dismissed\":true")
        append(",\"extension\":", response.contentExtension?.name, to: &out)
        out.append("}")
    }

    private static func append(_ field: TextField, _ text: String?, to out: inout [UInt8]) {
        guard let text else { return }
        out.append(",\"")
        out.append(field.member)
        out.append("\":")
        JSONText.append(text, to: &out)
    }

    /// - Parameter name: with the comma before it and the colon after it.
    private static func append(_ name: StaticString, _ value: String?, to out: inout [UInt8]) {
        guard let value else { return }
        out.append(name)
        JSONText.append(value, to: &out)
    }
}
