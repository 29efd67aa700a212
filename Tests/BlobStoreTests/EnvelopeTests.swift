import Testing

@testable import BlobStore

/// The pushes that tell a device of a notification.
@Suite struct EnvelopeTests {
    private static func record(
        id: String = "n1", message: String? = "Hello", richType: String? = "img",
        category: String? = "photo"
    ) -> Record {
        var record = Record(
            id: id, owner: "u1", message: message, richType: richType,
            createdAt: Timestamp(milliseconds: 0), expiresAt: Timestamp(milliseconds: 1),
            revision: 7, parts: [])
        record.details.category = category
        return record
    }

    private func text(
        _ record: Record, _ platform: PushPlatform, _ style: PushStyle
    ) throws(EnvelopeError) -> String {
        String(
            decoding: try Envelope.render(record, for: platform, style: style).bytes, as: UTF8.self)
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
                == #"{"message":{"android":{"priority":"high"},"data":{"richId":"n1","richMessage":"Hello","richType":"img"}}}"#
        )
        #expect(
            try text(record, .fcm, .alert)
                == #"{"message":{"android":{"priority":"high"},"data":{"richId":"n1","richMessage":"Hello","richType":"img","category":"photo"},"notification":{"body":"Hello"}}}"#
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
                let envelope = try Envelope.render(record, for: platform, style: style)
                #expect(envelope.mediaType == (isToast ? "text/xml" : "application/json"))
            }
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
                == #"{"message":{"android":{"priority":"normal"},"data":{"richId":"n1"}}}"#)
        #expect(try text(record, .wns, .silent) == #"{"richId":"n1"}"#)
        record.message = "Hi"
        #expect(
            try text(record, .apns, .alert)
                == #"{"aps":{"alert":{"body":"Hi"},"mutable-content":1},"richId":"n1"}"#)
    }

    @Test("An alert needs a message", arguments: PushPlatform.allCases)
    func noMessage(platform: PushPlatform) {
        #expect(throws: EnvelopeError.noMessage) {
            try Envelope.render(Self.record(message: nil), for: platform, style: .alert)
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
                try Envelope.render(longer, for: platform, style: style)
            }
        }
    }
}
