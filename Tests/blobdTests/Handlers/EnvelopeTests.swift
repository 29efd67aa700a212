import Testing

@testable import BlobServer
@testable import BlobStore

/// The times, priorities and limits of pushes. Their forms are in `Tests/Exchanges/pushes.txt`.
@Suite struct EnvelopeTests {
    private static let now = Timestamp(milliseconds: 1_000)
    /// An hour from now and a bit.
    private static let hour = Timestamp(milliseconds: 3_601_999)

    private static func record(message: String = "Hello") -> Record {
        Record(
            id: "n1", owner: "u1", message: message, createdAt: Timestamp(milliseconds: 0),
            expiresAt: hour, revision: 7, parts: [])
    }

    private func text(
        _ record: Record, _ platform: PushPlatform, _ style: PushStyle
    ) throws(EnvelopeError) -> String {
        String(
            decoding: try Envelope.render(
                record, for: platform, style: style, asOf: Self.now
            ).bytes, as: UTF8.self)
    }

    /// The headers of a push, as `name: value`.
    private func headers(
        _ record: Record, _ platform: PushPlatform, _ style: PushStyle,
        asOf now: Timestamp = EnvelopeTests.now
    ) throws(EnvelopeError) -> [String] {
        try Envelope.render(record, for: platform, style: style, asOf: now).headers.map {
            "\($0.name): \($0.value)"
        }
    }

    @Test("Priority and display time go along as each service wants them")
    func headers() throws {
        // A push had its body alone: every one was urgent, and none ended.
        var record = Self.record()
        for (priority, ttl, end, seconds) in [
            (NotificationPriority.high, 0, 3_601, 3_600), (.low, 0, 3_601, 3_600),
            (.high, 30, 31, 30), (.low, 30, 31, 30),
            // Never beyond the notification's end.
            (.high, 86_400, 3_601, 3_600),
        ] as [(NotificationPriority, UInt32, Int, Int)] {
            record.details.priority = priority
            record.details.displayTTLSeconds = ttl
            let isHigh = priority == .high
            #expect(
                try headers(record, .apns, .silent) == [
                    "apns-push-type: background", "apns-priority: 5", "apns-expiration: \(end)",
                    "apns-collapse-id: n1",
                ])
            #expect(
                try headers(record, .apns, .alert) == [
                    "apns-push-type: alert", "apns-priority: \(isHigh ? 10 : 5)",
                    "apns-expiration: \(end)", "apns-collapse-id: n1",
                ])
            #expect(
                try headers(record, .wns, .silent) == [
                    "Content-Type: application/octet-stream", "X-WNS-Type: wns/raw",
                    "X-WNS-PRIORITY: \(isHigh ? 1 : 3)", "X-WNS-TTL: \(seconds)",
                ])
            #expect(
                try headers(record, .wns, .alert) == [
                    "Content-Type: text/xml", "X-WNS-Type: wns/toast",
                    "X-WNS-PRIORITY: \(isHigh ? 1 : 3)", "X-WNS-TTL: \(seconds)",
                ])
            #expect(
                try headers(record, .webpush, .alert) == [
                    "TTL: \(seconds)", "Urgency: \(isHigh ? "high" : "normal")",
                    "Topic: Z2uLuEznJn3VIN7KSBHI8QpT5jY1LwaY",
                ])
            let json = "Content-Type: application/json; charset=utf-8"
            #expect(try headers(record, .fcm, .alert) == [json])
            let fcm = try text(record, .fcm, .alert)
            let word = isHigh ? "high" : "normal"
            #expect(fcm.contains(#""android":{"priority":"\#(word)","ttl":"\#(seconds)s"}"#))
            #expect(fcm.contains(#""apns-expiration":"\#(end)""#))
        }
    }

    @Test("Times at the edges: less than a second left, and more than FCM keeps")
    func times() throws {
        var record = Self.record()
        let late = Timestamp(milliseconds: 3_601_998)
        #expect(try headers(record, .wns, .silent, asOf: late).last == "X-WNS-TTL: 0")
        #expect(try headers(record, .apns, .silent, asOf: late)[2] == "apns-expiration: 3601")
        record.expiresAt = Timestamp(milliseconds: Self.now.milliseconds + 28 * 86_400_000)
        #expect(!(try text(record, .fcm, .silent).contains("ttl")))
        record.expiresAt = Timestamp(milliseconds: record.expiresAt.milliseconds - 1)
        #expect(try text(record, .fcm, .silent).contains(#""ttl":"2419199s""#))
        record.expiresAt = Timestamp(milliseconds: StoreLimits.expiryMillisecondsMax)
        record.details.displayTTLSeconds = .max
        #expect(
            try headers(record, .apns, .silent)[2] == "apns-expiration: \(Int64(UInt32.max) + 1)")
    }

    @Test("A push has at most its provider's bytes", arguments: PushPlatform.allCases)
    func limits(platform: PushPlatform) throws {
        let limits: [PushPlatform: Int] = [.apns: 4_096, .fcm: 4_096, .wns: 5_000, .webpush: 3_993]
        #expect(platform.byteCountMax == limits[platform])
        for style in PushStyle.allCases where platform != .webpush || style == .alert {
            let byteCount = try text(Self.record(message: "x"), platform, style).utf8.count - 1
            // FCM's alert has the message twice.
            let times = platform == .fcm && style == .alert ? 2 : 1
            let start = byteCount + 1 - times
            let fits = (platform.byteCountMax - start) / times
            let longest = Self.record(message: String(repeating: "x", count: fits))
            #expect(try text(longest, platform, style).utf8.count <= platform.byteCountMax)
            // A device's token does not count.
            let token = String(repeating: "t", count: 163)
            let whole = try Envelope.render(
                longest, for: platform, style: style, token: token, asOf: Self.now)
            #expect(whole.bytes.count > platform.byteCountMax || platform != .fcm || times == 2)
            let longer = Self.record(message: String(repeating: "x", count: fits + 1))
            #expect(
                throws: EnvelopeError.tooLarge(
                    byteCount: start + times * (fits + 1), limit: platform.byteCountMax)
            ) {
                try Envelope.render(longer, for: platform, style: style, asOf: Self.now)
            }
        }
    }
}
