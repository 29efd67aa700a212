import BlobProtocol
import BlobStore
import Bytes
import Notifications

extension RequestHandler {
    func getEnvelope(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let query = request.query
        let name = try require(
            try query.text("platform", .badPlatform), .badPlatform,
            "the parameter platform is missing; known are \(Self.platforms)")
        let platform = try require(
            PushPlatform(rawValue: name), .badPlatform,
            "unknown platform \(name.excerpt); known are \(Self.platforms)")
        var style: PushStyle?
        if let name = try query.text("style", .badQuery) {
            style = try require(
                PushStyle(rawValue: name), .badQuery,
                "unknown style \(name.excerpt); known are silent, alert")
        }
        let token = try Self.token(query, for: platform)
        let page = try Self.page(query, for: platform)
        let isWhole = try Self.isWhole(query)
        let record = try record(
            request.required(request.id).text.utf8.span.bytes, for: request, in: snapshot)
        let link = try link(to: record)
        let envelope: Envelope
        do throws(EnvelopeError) {
            envelope = try Envelope.render(
                record, for: platform, style: style, token: token, link: link, page: page,
                asOf: now)
        } catch {
            throw ProtocolError(error)
        }
        if isWhole { return .respond(.document { EnvelopeDocument.append(envelope, to: &$0) }) }
        return .respond(
            .document(
                Answer.Document(
                    mediaType: envelope.mediaType == "text/xml" ? "text/xml" : "application/json",
                    body: envelope.bytes)))
    }

    private static let platforms = PushPlatform.allCases.map(\.rawValue).joined(separator: ", ")

    /// A signed link to a notification's payload. Valid as long as the notification, or for a configured shorter time.
    private func link(to record: Record) throws(ProtocolError) -> String? {
        guard let base = limits.linkBase, let keys = links.keys,
            record.part(named: "payload") != nil
        else { return nil }
        var end = record.expiresAt.milliseconds / 1_000
        if let seconds = limits.linkTTLSeconds {
            end = min(end, now.milliseconds / 1_000 + seconds)
        }
        return base + (try SignedLink(to: .payload(id: record.id), expiresAt: end, keys: keys)).text
    }

    /// The device that FCM's message names. Other services are told the device elsewhere in the request.
    private static func token(
        _ query: EndpointQuery, for platform: PushPlatform
    ) throws(ProtocolError) -> String? {
        guard let bytes = query["token"] else { return nil }
        try require(
            platform == .fcm, .badQuery,
            "the parameter token is for fcm; the request to \(platform.rawValue) names the device in its URL"
        )
        try TextKind.pushToken.check(bytes.span.bytes)
        return bytes.span.bytes.text()
    }

    /// The page that a click on a Web Push opens. Safari accepts no relative one.
    private static func page(
        _ query: EndpointQuery, for platform: PushPlatform
    ) throws(ProtocolError) -> String? {
        guard let text = try query.text("navigate", .badQuery) else { return nil }
        try require(
            platform == .webpush, .badQuery,
            "the parameter navigate is for webpush, not for \(platform.rawValue)")
        let isAbsolute = ["https://", "http://"].contains { text.hasPrefix($0) && text != $0 }
        try require(
            isAbsolute && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, .badQuery,
            "the parameter navigate is \(text.excerpt); it must be an absolute URL, such as https://example.com/inbox"
        )
        return text
    }

    private static func isWhole(_ query: EndpointQuery) throws(ProtocolError) -> Bool {
        guard let format = query["format"] else { return false }
        if format.span.bytes.equals("json") { return true }
        guard format.span.bytes.equals("body") else {
            throw ProtocolError(
                .badQuery, "unknown format \(format.span.bytes.excerpt()); known are body, json")
        }
        return false
    }
}

/// A push with its headers: `{"media_type","headers":{…},"body"}`.
enum EnvelopeDocument {
    /// The body is a string, to be sent unchanged: composed again, it might exceed its provider's limit.
    static func append(_ envelope: Envelope, to out: inout [UInt8]) {
        out.object {
            $0.add("media_type", envelope.mediaType)
            $0.begin("headers")
            $0.object { for header in envelope.headers { $0.add(header.name, header.value) } }
            $0.add("body", String(decoding: envelope.bytes, as: UTF8.self))
        }
    }
}
