import BlobJSON
import Bytes
import Notifications
import TestSupport

@testable import BlobStore

/// Records: those that `docs/FORMAT.md` prints, and random ones of every shape.
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
        details.sequence = 12
        details.responses = [
            RecordedResponse(
                action: "reply", key: "k1", device: "phone", at: noon.adding(seconds: 60),
                revision: 13, staysOnScreen: false)
        ]
        var record = Record(
            id: "43", owner: "anna", message: "Hi", createdAt: noon,
            expiresAt: Golden.expiry, revision: 13, parts: [])
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

    // MARK: - Random ones

    static func random(_ generator: inout SeededGenerator) -> Record {
        var parts: [Part] = []
        for index in 0..<Int.random(in: 0...StoreLimits.partCountMax, using: &generator) {
            let isDefault = index == 0 && Bool.random(using: &generator)
            parts.append(
                Part(
                    name: isDefault ? "payload" : text(50, from: 0, &generator) + "\(index)",
                    mediaType: text(255, from: 3, &generator), blob: blob(&generator)))
        }
        let latest = StoreLimits.expiryMillisecondsMax
        var record = Record(
            id: text(255, &generator), owner: maybe(&generator) { text(255, from: 0, &$0) },
            message: maybe(&generator) { text(4_096, from: 0, &$0) },
            richType: maybe(&generator) { text(255, from: 0, &$0) },
            createdAt: Timestamp(milliseconds: .random(in: 0...latest, using: &generator)),
            expiresAt: Timestamp(milliseconds: .random(in: 0...latest, using: &generator)),
            revision: .random(in: 1...StoreLimits.counterMax, using: &generator),
            parts: RecordEncoder.sorted(parts))
        record.details = details(&generator, revision: record.revision)
        return record
    }

    private static func text(
        _ byteCountMax: Int, from least: Int = 1, _ generator: inout SeededGenerator
    ) -> String {
        let count = Int.random(in: least...byteCountMax, using: &generator)
        return String(
            decoding: (0..<count).map { _ in UInt8.random(in: 97...122, using: &generator) },
            as: UTF8.self)
    }

    private static func maybe<Value>(
        _ generator: inout SeededGenerator, _ make: (inout SeededGenerator) -> Value
    ) -> Value? {
        Bool.random(using: &generator) ? make(&generator) : nil
    }

    private static func blob(_ generator: inout SeededGenerator) -> BlobReference {
        let byteCount = Int.random(in: 0...1 << 36, using: &generator)
        let isCoded = Bool.random(using: &generator)
        return BlobReference(
            digest: Digest(bytes: generator.bytes(32).span.bytes)!, number: generator.next(),
            byteCount: byteCount,
            storedByteCount: isCoded ? Int.random(in: 0...1 << 36, using: &generator) : byteCount,
            coding: isCoded ? .gzip : .identity)
    }

    private static func details(
        _ generator: inout SeededGenerator, revision: UInt64
    ) -> NotificationDetails {
        var details = NotificationDetails()
        details.title = maybe(&generator) { text(StoreLimits.titleByteCountMax, from: 0, &$0) }
        details.app = maybe(&generator) { text(TextKind.app.byteCountMax, &$0) }
        details.category = maybe(&generator) { text(StoreLimits.categoryByteCountMax, &$0) }
        if details.category != nil, revision > 1 {
            details.categoryRevision = .random(in: 0..<revision, using: &generator)
        }
        details.group = maybe(&generator) { text(StoreLimits.groupByteCountMax, &$0) }
        details.platforms =
            (0..<Int.random(in: 0...StoreLimits.platformCountMax, using: &generator))
            .map { _ in text(StoreLimits.platformByteCountMax, &generator) }
        details.targetHost = maybe(&generator) { text(StoreLimits.targetHostByteCountMax, &$0) }
        details.actions = maybe(&generator) { generator in
            (0..<Int.random(in: 0...StoreLimits.actionCountMax, using: &generator)).map { _ in
                NotificationAction(
                    identifier: text(StoreLimits.actionIdentifierByteCountMax, &generator),
                    title: text(StoreLimits.actionTitleByteCountMax, from: 0, &generator),
                    isForeground: .random(using: &generator),
                    isDestructive: .random(using: &generator),
                    requiresAuthentication: .random(using: &generator))
            }
        }
        details.priority = .random(using: &generator) ? .high : .low
        details.displayTTLSeconds = .random(in: 0...1, using: &generator)
        details.data = maybe(&generator) { JSONFragment(checked: Array(text(600, &$0).utf8)) }
        details.isRead = .random(using: &generator)
        details.actionState = ActionState.allCases.randomElement(using: &generator) ?? .none
        details.device = maybe(&generator) { text(StoreLimits.deviceByteCountMax, &$0) }
        details.sequence = [0, revision, .random(in: 1...revision, using: &generator)]
            .randomElement(using: &generator)!
        details.responses =
            (0..<Int.random(in: 0...StoreLimits.responseCountMax, using: &generator))
            .map { _ in
                let answer = maybe(&generator) {
                    ContentExtensionAnswer.allCases.randomElement(using: &$0)
                }.flatMap { $0 }
                return RecordedResponse(
                    action: text(64, &generator), key: maybe(&generator) { text(64, &$0) },
                    device: maybe(&generator) { text(64, &$0) },
                    at: Timestamp(milliseconds: .random(in: 0 ... .max, using: &generator)),
                    revision: generator.next(),
                    staysOnScreen: answer.map { $0 == .doNotDismiss }
                        ?? .random(using: &generator),
                    contentExtension: answer)
            }
        return details
    }
}
