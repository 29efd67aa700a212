import BlobStore

/// Whose push service.
enum PushPlatform: String, Sendable, CaseIterable {
    /// Apple's.
    case apns
    /// Google's.
    case fcm
    /// Microsoft's.
    case wns
    /// That of the user's browser (RFC 8030).
    case webpush

    /// The most bytes of a push. The sender encrypts a Web Push into one record of 4,096 bytes, which also has a
    /// header of 86, a tag of 16 and a delimiter (RFC 8291, section 4).
    var byteCountMax: Int {
        switch self {
        case .apns, .fcm: 4_096
        case .wns: 5_000
        case .webpush: 4_096 - 86 - 16 - 1
        }
    }

    /// The style of a push that asks for none.
    var defaultStyle: PushStyle { self == .webpush ? .alert : .silent }
}

/// A field of the request to a push service.
struct PushHeader: Sendable, Hashable {
    /// Its name, as the service's documentation writes it.
    let name: String
    /// Its value.
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// How a push shows itself.
enum PushStyle: String, Sendable, CaseIterable {
    /// Not at all: it wakes the app, which fetches and shows. Systems delay or drop such pushes.
    case silent
    /// As a text, which the system shows even where the app does not run.
    case alert
}

/// Why there is no push for a notification.
enum EnvelopeError: Error, Sendable, Hashable {
    /// It would be longer than the provider takes.
    case tooLarge(byteCount: Int, limit: Int)
    /// An alert needs a title or a message, and there is neither.
    case noMessage
    /// Browsers demand that every Web Push shows a notification.
    case silentWebPush
}

/// The push that tells a device of a notification: its id, never its payload.
struct Envelope: Sendable, Hashable {
    /// `application/json` or `text/xml`.
    let mediaType: String
    /// What to send. It says whom to where FCM's token was given; else the sender adds that.
    private(set) var bytes: [UInt8]
    /// The fields of the request that carries it, besides those that say who sends it and to whom.
    var headers: [PushHeader] = []

    init(mediaType: String, bytes: [UInt8]) {
        self.mediaType = mediaType
        self.bytes = bytes
    }

    /// Renders it. Looks nothing up; members without a value are left out.
    ///
    /// - Parameters:
    ///   - record: the notification.
    ///   - platform: the push service.
    ///   - style: who shows it; nil: ``PushPlatform/defaultStyle``.
    ///   - token: the device, in FCM's message, where it does not count for the limit. APNs and WNS are told it
    ///     elsewhere.
    ///   - link: where the device fetches the payload without the backend (`richUrl`); a toast has no member for
    ///     it.
    ///   - page: the absolute URL that a click on a Web Push opens. With it, the push is a declarative one, which Safari
    ///     shows even where no service worker runs.
    ///   - now: the service keeps the push until the display time from now is over, and never longer than the
    ///     notification lives.
    /// - Throws: ``EnvelopeError/noMessage`` for an alert without a text, ``EnvelopeError/silentWebPush``, and
    ///   ``EnvelopeError/tooLarge(byteCount:limit:)``.
    static func render(
        _ record: Record, for platform: PushPlatform, style: PushStyle? = nil,
        token: String? = nil, link: String? = nil, page: String? = nil, asOf now: Timestamp
    ) throws(EnvelopeError) -> Envelope {
        let style = style ?? platform.defaultStyle
        if platform == .webpush, style == .silent { throw .silentWebPush }
        let alert = style == .alert ? PushAlert(record) : nil
        if style == .alert, alert == nil { throw .noMessage }
        let time = PushTime(of: record, asOf: now)
        var envelope =
            switch platform {
            case .apns: Envelope(json: .apns(record, alert, link))
            case .fcm: Envelope(json: .fcm(record, alert, time, link))
            case .wns:
                alert.map { Envelope(toast: $0, id: record.id) }
                    ?? Envelope(json: .references(record, link))
            case .webpush: Envelope(json: .webPush(record, alert, link, page))
            }
        envelope.headers = PushHeader.all(platform, record, style, time)
        let limit = platform.byteCountMax
        guard envelope.bytes.count <= limit else {
            throw .tooLarge(byteCount: envelope.bytes.count, limit: limit)
        }
        if platform == .fcm, let token {
            let json = PushJSON.fcm(record, alert, time, link, token: token)
            envelope.bytes = Envelope(json: json).bytes
        }
        return envelope
    }
}

/// What an alert shows: a title, a message, or both.
struct PushAlert {
    let title: String?
    let message: String?

    /// Nil when there is nothing to show.
    init?(_ record: Record) {
        title = record.title.flatMap { $0.isEmpty ? nil : $0 }
        message = record.message
        guard title != nil || message != nil else { return nil }
    }
}

/// How long a push service keeps a push for a device that is away.
struct PushTime {
    /// Whole seconds from now; 0: now or never.
    let seconds: Int64
    /// The moment, in whole seconds since 1970.
    let end: Int64

    /// The display time from now, or the notification's expiry, whichever comes first. Both are
    /// rounded down, so that no push comes after it.
    init(of record: Record, asOf now: Timestamp) {
        var end = record.expiresAt.milliseconds
        let seconds = record.details.displayTTLSeconds
        if seconds > 0 { end = min(end, now.adding(seconds: Int64(seconds)).milliseconds) }
        self.seconds = max(0, end - now.milliseconds) / 1_000
        self.end = end / 1_000
    }
}
