import BlobStore
import Bytes
import Hashing

extension PushHeader {
    /// Bytes of an `apns-collapse-id`.
    private static let collapseIDByteCountMax = 64

    /// The header fields of a push.
    static func all(
        _ platform: PushPlatform, _ record: Record, _ style: PushStyle, _ time: PushTime
    ) -> [PushHeader] {
        switch platform {
        case .apns: apns(record, style, time)
        case .fcm: [PushHeader("Content-Type", "application/json; charset=utf-8")]
        case .wns: wns(record, style, time)
        case .webpush: webPush(record, time)
        }
    }

    /// APNs' fields, also used inside an FCM push. A background push has priority 5: APNs refuses 10
    /// for it.
    static func apns(
        _ record: Record, _ style: PushStyle, _ time: PushTime
    ) -> [PushHeader] {
        let isUrgent = style == .alert && record.details.priority == .high
        var headers = [
            PushHeader("apns-push-type", style == .alert ? "alert" : "background"),
            PushHeader("apns-priority", isUrgent ? "10" : "5"),
            PushHeader("apns-expiration", String(time.end)),
        ]
        if isCollapseID(record.id) { headers.append(PushHeader("apns-collapse-id", record.id)) }
        return headers
    }

    /// Whether an id can be an `apns-collapse-id`, by which a push replaces an earlier one of the same
    /// notification: at most 64 bytes of visible ASCII.
    private static func isCollapseID(_ id: String) -> Bool {
        id.utf8.count <= collapseIDByteCountMax && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// WNS's fields. Its priorities are 1 (high) to 4 (very low).
    private static func wns(
        _ record: Record, _ style: PushStyle, _ time: PushTime
    ) -> [PushHeader] {
        let isToast = style == .alert
        return [
            PushHeader("Content-Type", isToast ? "text/xml" : "application/octet-stream"),
            PushHeader("X-WNS-Type", isToast ? "wns/toast" : "wns/raw"),
            PushHeader("X-WNS-PRIORITY", record.details.priority == .high ? "1" : "3"),
            PushHeader("X-WNS-TTL", String(time.seconds)),
        ]
    }

    /// The fields of RFC 8030. A later push with the same topic replaces one that has not been delivered yet.
    private static func webPush(_ record: Record, _ time: PushTime) -> [PushHeader] {
        [
            PushHeader("TTL", String(time.seconds)),
            PushHeader("Urgency", record.details.priority == .high ? "high" : "normal"),
            PushHeader("Topic", topic(of: record.id)),
        ]
    }

    /// At most 32 characters of base64url (RFC 8030, section 5.4), for ids that are longer and have others: the first 24
    /// bytes of the SHA-256.
    private static func topic(of id: String) -> String {
        let hash = SHA256.digest(of: id.utf8.span.bytes)
        var text: [UInt8] = []
        Base64.appendURL(hash.span.bytes.extracting(first: 24), to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
