/// Whose push service.
public enum PushPlatform: String, Sendable, CaseIterable {
    /// Apple's.
    case apns
    /// Google's.
    case fcm
    /// Microsoft's.
    case wns

    /// The most bytes of a push.
    public var byteCountMax: Int { self == .wns ? 5_000 : 4_096 }
}

/// How a push shows itself.
public enum PushStyle: String, Sendable, CaseIterable {
    /// Not at all: it wakes the app, which fetches and shows.
    case silent
    /// As a text, which the app may complete before it is shown.
    case alert
}

/// Why there is no push for a notification.
public enum EnvelopeError: Error, Sendable, Hashable {
    /// It would be longer than the provider takes.
    case tooLarge(byteCount: Int, limit: Int)
    /// An alert needs a message, and there is none.
    case noMessage
}

/// The push that tells a device of a notification: its id, never its payload.
public struct Envelope: Sendable, Hashable {
    /// `application/json` or `text/xml`.
    public let mediaType: String
    /// What to send. Whom to is the sender's to add: a token or a topic.
    public let bytes: [UInt8]

    /// Renders it. Looks nothing up; members without a value are left out.
    ///
    /// - Throws: ``EnvelopeError/noMessage`` for an alert without a text, and
    ///   ``EnvelopeError/tooLarge(byteCount:limit:)`` when the whole is over the provider's limit.
    public static func render(
        _ record: Record, for platform: PushPlatform, style: PushStyle = .silent
    ) throws(EnvelopeError) -> Envelope {
        let message = style == .alert ? record.message : nil
        if style == .alert, message == nil { throw .noMessage }
        let envelope =
            switch platform {
            case .apns: Envelope(json: .apns(record, alert: message))
            case .fcm: Envelope(json: .fcm(record, alert: message))
            case .wns:
                message.map { Envelope(toast: $0, id: record.id) }
                    ?? Envelope(json: .references(record))
            }
        let limit = platform.byteCountMax
        guard envelope.bytes.count <= limit else {
            throw .tooLarge(byteCount: envelope.bytes.count, limit: limit)
        }
        return envelope
    }
}
