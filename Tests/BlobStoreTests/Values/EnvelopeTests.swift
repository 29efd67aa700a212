import Testing

@testable import BlobStore

/// The pushes that tell a device of a notification.
@Suite struct EnvelopeTests {
    private static let now = Timestamp(milliseconds: 1_000)
    /// An hour from now and a bit.
    private static let hour = Timestamp(milliseconds: 3_601_999)

    private static func record(
        id: String = "n1", message: String? = "Hello", richType: String? = "img",
        category: String? = "photo"
    ) -> Record {
        var record = Record(
            id: id, owner: "u1", message: message, richType: richType,
            createdAt: Timestamp(milliseconds: 0), expiresAt: hour,
            revision: 7, parts: [])
        record.details.category = category
        return record
    }

    private func text(
        _ record: Record, _ platform: PushPlatform, _ style: PushStyle
    ) throws(EnvelopeError) -> String {
        String(
            decoding: try Envelope.render(
                record, for: platform, style: style, asOf: Self.now
            ).bytes, as: UTF8.self)
    }

    @Test("Each platform and style has its form")
    func forms() throws {
        let record = Self.record()
        #expect(
            try text(record, .apns, .silent)
                == #"{"aps":{"content-available":1,"sound":""},"richId":"n1","richMessage":"Hello","richType":"img"}"#
        )
        #expect(
            try text(record, .apns, .alert)
                == #"{"aps":{"alert":{"body":"Hello"},"mutable-content":1,"category":"photo"},"richId":"n1","richType":"img"}"#
        )
        #expect(
            try text(record, .fcm, .silent)
                == #"{"message":{"android":{"priority":"high","ttl":"3600s"},"apns":{"headers":{"apns-push-type":"background","apns-priority":"5","apns-expiration":"3601","apns-collapse-id":"n1"},"payload":{"aps":{"content-available":1}}},"data":{"richId":"n1","richMessage":"Hello","richType":"img"}}}"#
        )
        #expect(
            try text(record, .fcm, .alert)
                == #"{"message":{"android":{"priority":"high","ttl":"3600s"},"apns":{"headers":{"apns-push-type":"alert","apns-priority":"10","apns-expiration":"3601","apns-collapse-id":"n1"},"payload":{"aps":{"mutable-content":1,"category":"photo"}}},"data":{"richId":"n1","richMessage":"Hello","richType":"img","category":"photo"},"notification":{"body":"Hello"}}}"#
        )
        #expect(
            try text(record, .wns, .silent)
                == #"{"richId":"n1","richMessage":"Hello","richType":"img"}"#)
        #expect(
            try text(record, .wns, .alert)
                == #"<toast launch="richId=n1"><visual><binding template="ToastGeneric"><text>Hello</text></binding></visual></toast>"#
        )
        for platform in PushPlatform.allCases {
            for style in PushStyle.allCases {
                let isToast = platform == .wns && style == .alert
                let envelope = try Envelope.render(
                    record, for: platform, style: style, asOf: Self.now)
                #expect(envelope.mediaType == (isToast ? "text/xml" : "application/json"))
            }
        }
    }

    // "Send it unchanged", said the page, and "add the token yourself": FCM takes no message without one.
    @Test("FCM's message has the device's token, which does not count for the limit")
    func token() throws {
        var record = Self.record()
        func bytes(token: String?) throws(EnvelopeError) -> [UInt8] {
            try Envelope.render(record, for: .fcm, token: token, asOf: Self.now).bytes
        }
        let plain = try text(record, .fcm, .silent)
        let prefix = #"{"message":{"#
        #expect(
            String(decoding: try bytes(token: #"a:"b"#), as: UTF8.self)
                == prefix + #""token":"a:\"b","# + plain.dropFirst(prefix.utf8.count))
        let limit = PushPlatform.fcm.byteCountMax
        record.message = String(repeating: "m", count: limit - plain.utf8.count + 5)
        let token = String(repeating: "t", count: 163)
        #expect(try bytes(token: nil).count == limit)
        #expect(try bytes(token: token).count == limit + 163 + #""token":"","#.utf8.count)
        record.message?.append("m")
        #expect(throws: EnvelopeError.tooLarge(byteCount: limit + 1, limit: limit)) {
            try bytes(token: token)
        }
        // The others are told the device elsewhere.
        for platform in [PushPlatform.apns, .wns] {
            let envelope = try Envelope.render(
                Self.record(), for: platform, token: token, asOf: Self.now)
            let plain = try text(Self.record(), platform, .silent)
            #expect(String(decoding: envelope.bytes, as: UTF8.self) == plain)
        }
    }

    @Test("What there is not is left out, and low priority is said")
    func absent() throws {
        var record = Self.record(message: nil, richType: nil, category: nil)
        record.details.priority = .low
        #expect(
            try text(record, .apns, .silent)
                == #"{"aps":{"content-available":1,"sound":""},"richId":"n1"}"#)
        #expect(
            try text(record, .fcm, .silent)
                == #"{"message":{"android":{"priority":"normal","ttl":"3600s"},"apns":{"headers":{"apns-push-type":"background","apns-priority":"5","apns-expiration":"3601","apns-collapse-id":"n1"},"payload":{"aps":{"content-available":1}}},"data":{"richId":"n1"}}}"#
        )
        #expect(try text(record, .wns, .silent) == #"{"richId":"n1"}"#)
        record.message = "Hi"
        #expect(
            try text(record, .apns, .alert)
                == #"{"aps":{"alert":{"body":"Hi"},"mutable-content":1},"richId":"n1"}"#)
    }

    @Test("A title stands in every alert, and beside the message in what wakes the app")
    func title() throws {
        // It was in the record, and no push had it.
        var record = Self.record(richType: nil, category: nil)
        record.title = "Photo & more"
        #expect(
            try text(record, .apns, .alert)
                == #"{"aps":{"alert":{"title":"Photo & more","body":"Hello"},"mutable-content":1},"richId":"n1"}"#
        )
        #expect(
            try text(record, .apns, .silent)
                == #"{"aps":{"content-available":1,"sound":""},"richId":"n1","richTitle":"Photo & more","richMessage":"Hello"}"#
        )
        let fcm = try text(record, .fcm, .alert)
        #expect(fcm.contains(#""notification":{"title":"Photo & more","body":"Hello"}"#))
        #expect(fcm.contains(#""richTitle":"Photo & more","richMessage":"Hello""#))
        #expect(
            try text(record, .wns, .alert)
                == #"<toast launch="richId=n1"><visual><binding template="ToastGeneric"><text>Photo &amp; more</text><text>Hello</text></binding></visual></toast>"#
        )
        #expect(
            try text(record, .wns, .silent)
                == #"{"richId":"n1","richTitle":"Photo & more","richMessage":"Hello"}"#)
        // A title alone is something to show.
        record.message = nil
        #expect(
            try text(record, .apns, .alert)
                == #"{"aps":{"alert":{"title":"Photo & more"},"mutable-content":1},"richId":"n1"}"#
        )
        record.title = ""
        #expect(throws: EnvelopeError.noMessage) { try text(record, .wns, .alert) }
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

    @Test("An id is a collapse id where APNs takes it")
    func collapseID() throws {
        for (id, isTaken) in [
            (String(repeating: "x", count: 64), true), (String(repeating: "x", count: 65), false),
            ("a b", false), ("é", false), ("~!", true),
        ] {
            let all = try headers(Self.record(id: id), .apns, .alert)
            #expect(all.contains("apns-collapse-id: \(id)") == isTaken, "\(id)")
            #expect(all.count == (isTaken ? 4 : 3))
        }
    }

    @Test("An alert needs a message", arguments: PushPlatform.allCases)
    func noMessage(platform: PushPlatform) {
        #expect(throws: EnvelopeError.noMessage) {
            try Envelope.render(
                Self.record(message: nil), for: platform, style: .alert, asOf: Self.now)
        }
    }

    @Test("Texts are escaped as JSON and XML want it")
    func escapes() throws {
        let record = Self.record(
            id: "a\"<&'>é", message: "1 < 2 & \"3\"\\\n\t😀", richType: nil, category: nil)
        #expect(
            try text(record, .wns, .silent)
                == #"{"richId":"a\"<&'>é","richMessage":"1 < 2 & \"3\"\\\n\t😀"}"#)
        #expect(
            try text(record, .wns, .alert)
                == #"<toast launch="richId=a%22%3C%26%27%3E%C3%A9"><visual><binding template="ToastGeneric"><text>1 &lt; 2 &amp; &quot;3&quot;\&#10;&#9;😀</text></binding></visual></toast>"#
        )
    }

    /// The launch argument is read as a query. `x&richId=other` was written as it is, and an app
    /// that parses it fetched `other`.
    @Test("A toast's launch argument has the id percent-encoded")
    func launch() throws {
        for (id, encoded) in [
            ("42", "42"), ("x&richId=other", "x%26richId%3Dother"), ("100%25", "100%2525"),
            ("a b+c", "a%20b%2Bc"), ("ü-._~", "%C3%BC-._~"),
        ] {
            let toast = try text(Self.record(id: id), .wns, .alert)
            #expect(toast.contains("<toast launch=\"richId=\(encoded)\">"), "\(toast)")
        }
    }

    @Test("A push has at most its provider's bytes", arguments: PushPlatform.allCases)
    func limits(platform: PushPlatform) throws {
        #expect(platform.byteCountMax == (platform == .wns ? 5_000 : 4_096))
        for style in PushStyle.allCases {
            let byteCount = try text(Self.record(message: "x"), platform, style).utf8.count - 1
            // FCM's alert has the message twice.
            let times = platform == .fcm && style == .alert ? 2 : 1
            let start = byteCount + 1 - times
            let fits = (platform.byteCountMax - start) / times
            let longest = Self.record(message: String(repeating: "x", count: fits))
            #expect(try text(longest, platform, style).utf8.count <= platform.byteCountMax)
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
