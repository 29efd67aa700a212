import BlobJSON
import Bytes
import Notifications
import TestSupport

@testable import BlobStore

/// The records that `docs/FORMAT.md` and ``FormatExamples`` print.
enum RecordSamples {
    static let parts = Record(
        id: "42", owner: "anna", message: "Hi", richType: "img", createdAt: noon,
        expiresAt: Golden.expiry, revision: 12,
        parts: [
            Part(name: "payload", mediaType: "image/png", blob: Golden.blob),
            Part(
                name: "icon", mediaType: "text/plain",
                blob: BlobReference(
                    digest: Digest(bytes: [UInt8](0..<32).span.bytes)!, number: 9,
                    byteCount: 1_000, storedByteCount: 300, coding: .gzip)),
        ])

    /// Without parts.
    static var fields: Record {
        var details = NotificationDetails()
        details.title = "News"
        details.app = "mail"
        details.category = "reply"
        details.categoryRevision = 11
        details.group = "news"
        details.platforms = ["ios", "web"]
        details.targetHost = "example.com"
        details.isRead = true
        details.actionState = .activated
        details.priority = .low
        details.displayTTLSeconds = 60
        details.actions = [
            NotificationAction(identifier: "open", title: "Open", isForeground: true)
        ]
        details.data = JSONFragment(checked: Array(#"{"n":1}"#.utf8))
        details.device = "phone"
        details.responses = [
            RecordedResponse(
                action: "reply", key: "k1", device: "phone", at: noon.adding(seconds: 60),
                revision: 13, staysOnScreen: false)
        ]
        var record = Record(
            id: "43", owner: "anna", message: "Hi", createdAt: noon,
            expiresAt: Golden.expiry, revision: 13, parts: [])
        record.arrival = 12
        record.details = details
        return record
    }

    /// Reads a record as the store does, every part and every field.
    ///
    /// - Parameter key: nil: its checksum is not looked at.
    static func read(_ bytes: [UInt8], key: [UInt8]?, id: String) throws -> Record {
        let view = try RecordView(bytes.span.bytes)
        if let key { try view.check(id: key.span.bytes) }
        for index in 0..<view.partCount { _ = try view.part(at: index).blob() }
        _ = try view.part(named: Array("icon".utf8).span.bytes)?.blob()
        _ = try view.part(named: RawSpan())?.blob()
        return try view.record(id: id)
    }
}
