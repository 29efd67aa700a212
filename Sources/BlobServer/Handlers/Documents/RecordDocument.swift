import BlobJSON
import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// A notification's record. Absent members are omitted.
enum RecordDocument {
    static let usualByteCount = 512

    private static let first: [TextField] = [.owner, .app, .title, .message, .richType]
    /// Texts without a fixed position, after the platforms.
    private static let later = TextField.allCases.filter {
        !first.contains($0) && ![.category, .group, .device].contains($0)
    }

    static func append(_ record: Record, to out: inout [UInt8]) {
        out.object {
            $0.add("id", record.id)
            for field in first { $0.add(field, record[field]) }
            $0.add("created_at", record.createdAt)
            $0.add("expires_at", record.expiresAt)
            $0.add("revision", record.revision)
            $0.add("parts", record.parts, append)
            if record.hasDetails { addTexts(record.details, to: &$0) }
            addState(record.details, to: &$0)
        }
    }

    private static func append(_ part: Part, to out: inout [UInt8]) {
        out.object {
            $0.add("name", part.name)
            $0.add("media_type", part.mediaType)
            $0.add("digest", quoted: { part.digest.appendText(to: &$0) })
            $0.add("byte_count", part.byteCount)
            $0.add("stored_byte_count", part.storedByteCount)
            $0.add("coding", part.coding.name)
        }
    }

    private static func addTexts(_ details: NotificationDetails, to out: inout [UInt8]) {
        out.add(.category, details.category)
        if details.categoryRevision > 0 { out.add("category_revision", details.categoryRevision) }
        if let actions = details.actions { ActionsDocument.add(actions, to: &out) }
        out.add(.group, details.group)
        if !details.platforms.isEmpty { out.add("platforms", details.platforms) }
        for field in later { out.add(field, details[field]) }
    }

    private static func addState(_ details: NotificationDetails, to out: inout [UInt8]) {
        out.add("priority", details.priority.name)
        if details.displayTTLSeconds > 0 { out.add("display_ttl", Int(details.displayTTLSeconds)) }
        if let data = details.data {
            out.begin("data")
            out.append(contentsOf: data.bytes)
        }
        out.add("read", details.isRead)
        out.add("action_state", details.actionState.name)
        out.add(.device, details.device)
        guard !details.responses.isEmpty else { return }
        out.add("responses", details.responses) { response, out in
            out.object {
                $0.add("action", response.action)
                $0.add("key", response.key)
                $0.add("device", response.device)
                $0.add("at", response.at)
                $0.add("revision", response.revision)
                $0.add("dismissed", !response.staysOnScreen)
                $0.add("extension", response.contentExtension?.name)
            }
        }
    }
}

extension [UInt8] {
    mutating func add(_ name: String, _ moment: Timestamp) {
        add(name, moment: moment.milliseconds)
    }

    fileprivate mutating func add(_ field: TextField, _ text: String?) {
        if let text { add(field.member.description, text) }
    }
}
