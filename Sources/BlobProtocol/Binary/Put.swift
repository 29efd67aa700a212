import Bytes
package import Notifications

/// Storing a payload for a notification. The request's body is the payload; the answer is sent
/// after it is on disk.
public enum Put {
    /// What the client says, 32 bytes and nine texts:
    ///
    ///     OFFSET  SIZE  DESCRIPTION
    ///          0     8  lifetime in seconds, signed; 0 when not given
    ///          8     8  expiry in milliseconds since 1970, signed; 0 when not given
    ///         16     1  a: bytes in the id; 0: the daemon chooses one
    ///         17     1  b: bytes in the part's name; 0: "payload"
    ///         18     1  c: bytes in the media type; 0: application/octet-stream
    ///         19     1  d: bytes in the owner; 0: not said
    ///         20     1  e: bytes in the rich type; 0: not said
    ///         21     1  g: bytes in the app; 0: not said
    ///         22     2  f: bytes in the message; 0: not said
    ///         24     2  h: bytes in the title; 0: not said
    ///         26     1  i: bytes in the profile; 0: none
    ///         27     5  reserved, 0
    ///         32     …  id (a), part (b), media type (c), owner (d), rich type (e), message (f),
    ///                   app (g), title (h), profile (i)
    public struct Request: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 32

        /// The lifetime asked for, at least 1; nil when there is none in the request. Whether it is
        /// too long is for the daemon to say.
        public var ttlSeconds: Int64?
        /// The expiry asked for, in milliseconds since 1970, within what RFC 3339 can write; nil
        /// when there is none in the request.
        public var expiryMilliseconds: Int64?
        /// How the body is coded; the payload is what is inside.
        public var coding: WireCoding
        /// The id, or an empty slice when the daemon shall choose one.
        public var id: Slice
        /// The part's name, or an empty slice for `payload`.
        public var part: Slice
        /// The media type, or an empty slice for `application/octet-stream`.
        public var mediaType: Slice
        /// The owner, or an empty slice.
        public var owner: Slice
        /// The rich type, or an empty slice.
        public var richType: Slice
        /// The message, or an empty slice.
        public var message: Slice
        /// The app, or an empty slice.
        public var app: Slice
        /// The title, or an empty slice.
        public var title: Slice
        /// Whose limits hold; nil: nobody's.
        public var profile: DeviceProfile?
        /// What the slices of id, owner, app, title, message and rich type say.
        package private(set) var texts = NotificationTexts()
        /// What `part` says.
        package private(set) var partName = PartName.payload
        /// What `mediaType` says.
        package private(set) var type = MediaType.octetStream

        /// Whether the daemon shall choose the id.
        public var isIDAssigned: Bool { id.isEmpty }

        /// Reads a whole head and checks every text in it.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(fixedByteCount, .put)
            try head.checkReserved(from: 27, upTo: 32, .put)
            var texts = HeadTexts(after: fixedByteCount)
            var request = Request(
                ttlSeconds: flags.contains(.ttlGiven) ? head.integer(0, as: Int64.self) : nil,
                expiryMilliseconds: flags.contains(.expiryGiven)
                    ? head.integer(8, as: Int64.self) : nil,
                coding: flags.contains(.bodyIsGzip) ? .gzip : .identity,
                id: texts.next(Int(head.byte(16))),
                part: texts.next(Int(head.byte(17))),
                mediaType: texts.next(Int(head.byte(18))),
                owner: texts.next(Int(head.byte(19))),
                richType: texts.next(Int(head.byte(20))),
                message: texts.next(Int(head.integer(22, as: UInt16.self))),
                app: texts.next(Int(head.byte(21))),
                title: texts.next(Int(head.integer(24, as: UInt16.self))))
            let profile = texts.next(Int(head.byte(26)))
            try texts.checkEnd(of: head, .put)
            if request.ttlSeconds == nil { try head.checkReserved(from: 0, upTo: 8, .put) }
            if request.expiryMilliseconds == nil { try head.checkReserved(from: 8, upTo: 16, .put) }
            try Lifetime.check(
                ttlSeconds: request.ttlSeconds, expiryMilliseconds: request.expiryMilliseconds)
            try request.checkTexts(head, isIDAssigned: flags.contains(.idAssigned))
            if !profile.isEmpty { request.profile = try DeviceProfile(name: profile.of(head)) }
            return request
        }

        /// Makes the texts, each of which is checked so.
        private mutating func checkTexts(
            _ head: RawSpan, isIDAssigned: Bool
        ) throws(ProtocolError) {
            if isIDAssigned {
                guard id.isEmpty else {
                    throw ProtocolError(
                        .badID,
                        "the daemon chooses the id, but an id of \(id.count) bytes is given")
                }
            } else {
                texts.id = try NotificationID(onWire: id.of(head))
            }
            partName = try PartName(given: part.of(head)) ?? .payload
            type = try MediaType(given: mediaType.of(head)) ?? .octetStream
            texts.owner = try OwnerID(given: owner.of(head))
            texts.richType = try RichType(given: richType.of(head))
            texts.message = try Message(given: message.of(head))
            texts.app = try AppName(given: app.of(head))
            texts.title = try Title(given: title.of(head))
        }
    }

    /// The same with its texts, as a client writes it.
    public struct Draft: Sendable, Hashable {
        /// The lifetime in seconds, or nil.
        public var ttlSeconds: Int64?
        /// The expiry in milliseconds since 1970, or nil.
        public var expiryMilliseconds: Int64?
        /// How the body is coded; the payload is what is inside.
        public var coding = WireCoding.identity
        /// The id; empty: the daemon chooses one.
        public var id: [UInt8]
        /// The part's name; empty: `payload`.
        public var part: [UInt8] = []
        /// The media type; empty: `application/octet-stream`.
        public var mediaType: [UInt8] = []
        /// The owner; empty: none.
        public var owner: [UInt8] = []
        /// The rich type; empty: none.
        public var richType: [UInt8] = []
        /// The message; empty: none.
        public var message: [UInt8] = []
        /// The app; empty: none.
        public var app: [UInt8] = []
        /// The title; empty: none.
        public var title: [UInt8] = []
        /// The profile; empty: none.
        public var profile: [UInt8] = []

        /// A draft with these texts in UTF-8. Nil and "" mean the same: absent.
        public init(
            id: String?, part: String? = nil, mediaType: String? = nil, owner: String? = nil,
            richType: String? = nil, message: String? = nil, app: String? = nil,
            title: String? = nil, ttlSeconds: Int64? = nil,
            expiryMilliseconds: Int64? = nil
        ) {
            self.id = Array((id ?? "").utf8)
            self.part = Array((part ?? "").utf8)
            self.mediaType = Array((mediaType ?? "").utf8)
            self.owner = Array((owner ?? "").utf8)
            self.richType = Array((richType ?? "").utf8)
            self.message = Array((message ?? "").utf8)
            self.app = Array((app ?? "").utf8)
            self.title = Array((title ?? "").utf8)
            self.ttlSeconds = ttlSeconds
            self.expiryMilliseconds = expiryMilliseconds
        }

        /// A draft that says what `request`, parsed from `head`, says.
        public init(_ request: Request, head: RawSpan) {
            self.id = request.id.of(head).array()
            self.part = request.part.of(head).array()
            self.mediaType = request.mediaType.of(head).array()
            self.owner = request.owner.of(head).array()
            self.richType = request.richType.of(head).array()
            self.message = request.message.of(head).array()
            self.app = request.app.of(head).array()
            self.title = request.title.of(head).array()
            self.profile = Array((request.profile?.rawValue ?? "").utf8)
            self.ttlSeconds = request.ttlSeconds
            self.expiryMilliseconds = request.expiryMilliseconds
            self.coding = request.coding
        }

        /// The flags for the frame's header.
        public var flags: RequestFlags {
            var flags: RequestFlags = []
            if ttlSeconds != nil { flags.insert(.ttlGiven) }
            if expiryMilliseconds != nil { flags.insert(.expiryGiven) }
            if id.isEmpty { flags.insert(.idAssigned) }
            if coding == .gzip { flags.insert(.bodyIsGzip) }
            return flags
        }

        /// Appends the head, after checking it as the daemon will. Throws before anything is
        /// appended.
        public func compose(into out: inout [UInt8]) throws(ProtocolError) {
            try Lifetime.check(ttlSeconds: ttlSeconds, expiryMilliseconds: expiryMilliseconds)
            let texts = [
                (id, TextKind.id), (part, .part), (mediaType, .mediaType), (owner, .owner),
                (richType, .richType), (message, .message), (app, .app), (title, .title),
            ]
            for (text, kind) in texts where !text.isEmpty { try kind.check(text.span.bytes) }
            // Which there are is for the daemon to say.
            guard profile.count <= Int(UInt8.max) else {
                throw ProtocolError(
                    .badProfile, "unknown profile \(profile.span.bytes.excerpt())")
            }
            out.append(littleEndian: ttlSeconds ?? 0)
            out.append(littleEndian: expiryMilliseconds ?? 0)
            out.append(UInt8(id.count))
            out.append(UInt8(part.count))
            out.append(UInt8(mediaType.count))
            out.append(UInt8(owner.count))
            out.append(UInt8(richType.count))
            out.append(UInt8(app.count))
            out.append(littleEndian: UInt16(message.count))
            out.append(littleEndian: UInt16(title.count))
            out.append(UInt8(profile.count))
            out.appendZeros(5)
            for (text, _) in texts { out.append(contentsOf: text) }
            out.append(contentsOf: profile)
        }
    }
}
