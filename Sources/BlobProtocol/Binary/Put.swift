import Bytes
package import Notifications

/// Storing a payload for a notification. The answer is sent once it is on disk.
public enum Put {
    /// The client's request (`docs/PROTOCOL.md`).
    public struct Request: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 32

        /// The requested lifetime. The daemon decides whether it is too long.
        public var lifetime: Lifetime
        /// How the body is coded. The payload is the decoded body.
        public var coding: WireCoding
        /// The profile whose limits apply; nil: none.
        public var profile: DeviceProfile?
        /// Without an id the daemon chooses one.
        package private(set) var texts = NotificationTexts()
        /// nil: `payload`.
        package private(set) var part: PartName?
        /// nil: `application/octet-stream`.
        package private(set) var mediaType: MediaType?

        /// Reads a whole head and checks every text in it.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(fixedByteCount, .put)
            try head.checkReserved(from: 27, upTo: 32, .put)
            var slices = HeadTexts(after: fixedByteCount)
            let id = slices.next(Int(head.byte(16)))
            let part = slices.next(Int(head.byte(17)))
            let mediaType = slices.next(Int(head.byte(18)))
            let owner = slices.next(Int(head.byte(19)))
            let richType = slices.next(Int(head.byte(20)))
            let message = slices.next(Int(head.integer(22, as: UInt16.self)))
            let app = slices.next(Int(head.byte(21)))
            let title = slices.next(Int(head.integer(24, as: UInt16.self)))
            let profile = slices.next(Int(head.byte(26)))
            try slices.checkEnd(of: head, .put)
            let lifetime = Lifetime(
                ttlSeconds: flags.contains(.ttlGiven) ? head.integer(0, as: Int64.self) : nil,
                expiryMilliseconds: flags.contains(.expiryGiven)
                    ? head.integer(8, as: Int64.self) : nil)
            if lifetime.ttlSeconds == nil { try head.checkReserved(from: 0, upTo: 8, .put) }
            if lifetime.expiryMilliseconds == nil {
                try head.checkReserved(from: 8, upTo: 16, .put)
            }
            try lifetime.check()
            var request = Request(
                lifetime: lifetime, coding: flags.contains(.bodyIsGzip) ? .gzip : .identity)
            if flags.contains(.idAssigned) {
                try require(
                    id.isEmpty, .badID,
                    "the daemon chooses the id, but an id of \(id.count) bytes is given")
            } else {
                request.texts.id = try NotificationID(onWire: id.of(head))
            }
            request.part = try PartName(given: part.of(head))
            request.mediaType = try MediaType(given: mediaType.of(head))
            request.texts.owner = try OwnerID(given: owner.of(head))
            request.texts.richType = try RichType(given: richType.of(head))
            request.texts.message = try Message(given: message.of(head))
            request.texts.app = try AppName(given: app.of(head))
            request.texts.title = try Title(given: title.of(head))
            if !profile.isEmpty { request.profile = try DeviceProfile(name: profile.of(head)) }
            return request
        }
    }

    /// A put as a client writes it: what to store, besides the bytes. If the notification exists, nil keeps a value.
    /// The limits (`WireLimits`) are checked before anything is sent.
    public struct Draft: Sendable, Hashable {
        /// The notification's id, 1…255 bytes of UTF-8 without control characters and `/`; nil: the daemon chooses one.
        public var id: String?
        /// The part's name; nil: `payload`.
        public var part: String?
        /// The media type; nil: `application/octet-stream`.
        public var mediaType: String?
        /// The user the notification is for.
        public var owner: String?
        /// Which of the user's apps it is for, 1…64 bytes.
        public var app: String?
        /// The line above the text, at most 256 bytes.
        public var title: String?
        /// The notification's text, at most 4,096 bytes.
        public var message: String?
        /// The kind of rich notification, such as `img`.
        public var richType: String?
        /// How long it lives.
        public var lifetime: Lifetime
        /// The devices that must accept it, `ios` or `android`; otherwise it is refused with `attachment_too_large` or
        /// `unsupported_attachment`. nil: the daemon's setting.
        public var profile: String?
        /// How the given bytes are coded. The payload, with its digest and length, is the decoded bytes.
        public var coding: WireCoding

        /// Creates a put.
        public init(
            id: String?, part: String? = nil, mediaType: String? = nil, owner: String? = nil,
            app: String? = nil, title: String? = nil, message: String? = nil,
            richType: String? = nil, lifetime: Lifetime = .standard, profile: String? = nil,
            coding: WireCoding = .identity
        ) {
            self.id = id
            self.part = part
            self.mediaType = mediaType
            self.owner = owner
            self.app = app
            self.title = title
            self.message = message
            self.richType = richType
            self.lifetime = lifetime
            self.profile = profile
            self.coding = coding
        }

        /// Creates a draft with the values of `request`.
        public init(_ request: Request) {
            let texts = request.texts
            self.init(
                id: texts.id?.text, part: request.part?.text, mediaType: request.mediaType?.text,
                owner: texts.owner?.text, app: texts.app?.text, title: texts.title?.text,
                message: texts.message?.text, richType: texts.richType?.text,
                lifetime: request.lifetime, profile: request.profile?.rawValue,
                coding: request.coding)
        }

        /// The flags for the frame's header.
        public var flags: RequestFlags {
            var flags: RequestFlags = []
            if lifetime.ttlSeconds != nil { flags.insert(.ttlGiven) }
            if lifetime.expiryMilliseconds != nil { flags.insert(.expiryGiven) }
            if id == nil { flags.insert(.idAssigned) }
            if coding == .gzip { flags.insert(.bodyIsGzip) }
            return flags
        }

        /// Appends the head, after the daemon's checks. An empty text of the notification counts as absent.
        public func compose(into out: inout [UInt8]) throws(ProtocolError) {
            try lifetime.check()
            for (text, kind) in [(id, TextKind.id), (part, .part), (mediaType, .mediaType)] {
                if let text { try kind.check(text.utf8.span.bytes) }
            }
            let texts = [
                (owner, TextKind.owner), (richType, .richType), (message, .message), (app, .app),
                (title, .title),
            ]
            for case (let text?, let kind) in texts where !text.isEmpty {
                try kind.check(text.utf8.span.bytes)
            }
            // The daemon decides which profiles exist.
            try require(
                Self.count(profile) <= Int(UInt8.max), .badProfile,
                "unknown profile \((profile ?? "").excerpt)")
            out.append(littleEndian: lifetime.ttlSeconds ?? 0)
            out.append(littleEndian: lifetime.expiryMilliseconds ?? 0)
            for text in [id, part, mediaType, owner, richType, app] {
                out.append(UInt8(Self.count(text)))
            }
            out.append(littleEndian: UInt16(Self.count(message)))
            out.append(littleEndian: UInt16(Self.count(title)))
            out.append(UInt8(Self.count(profile)))
            out.appendZeros(5)
            for case let text? in [id, part, mediaType] + texts.map(\.0) + [profile] {
                out.append(contentsOf: text.utf8)
            }
        }

        private static func count(_ text: String?) -> Int { text?.utf8.count ?? 0 }
    }

    /// The daemon's answer (`docs/PROTOCOL.md`): 201 for a new part, 200 for a replaced one.
    public struct Response: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 72

        /// The number of bytes of the whole payload as given.
        public var byteCount: UInt64
        /// The number of bytes as stored.
        public var storedByteCount: UInt64
        /// When it expires, in milliseconds since 1970.
        public var expiryMilliseconds: Int64
        /// The store's revision of the put.
        public var revision: UInt64
        /// How the bytes are coded.
        public var coding: WireCoding
        /// The position of the digest in the parsed head.
        public var digest: Slice = Slice(offset: 0, count: Wire.digestByteCount)
        /// The position of the id in the parsed head.
        public var id: Slice = .empty

        /// Creates an answer, whose digest and id are passed to `compose`.
        public init(
            byteCount: UInt64, storedByteCount: UInt64, expiryMilliseconds: Int64, revision: UInt64,
            coding: WireCoding
        ) {
            self.byteCount = byteCount
            self.storedByteCount = storedByteCount
            self.expiryMilliseconds = expiryMilliseconds
            self.revision = revision
            self.coding = coding
        }

        /// Reads a whole head.
        public static func parse(_ head: RawSpan) throws(ProtocolError) -> Response {
            try head.checkFixedPart(fixedByteCount, .put)
            try head.checkReserved(from: 66, upTo: 72, .put)
            let coding = try require(
                WireCoding(rawValue: head.byte(64)), .malformed, "unknown coding \(head.byte(64))")
            var response = Response(
                byteCount: head.integer(32, as: UInt64.self),
                storedByteCount: head.integer(40, as: UInt64.self),
                expiryMilliseconds: head.integer(48, as: Int64.self),
                revision: head.integer(56, as: UInt64.self),
                coding: coding)
            var texts = HeadTexts(after: fixedByteCount)
            response.id = texts.next(Int(head.byte(65)))
            try texts.checkEnd(of: head, .put)
            try TextKind.checkID(response.id.of(head))
            return response
        }

        /// Appends the head. The digest must be 32 bytes and the id at most 255.
        public func compose(digest: RawSpan, id: RawSpan, into out: inout [UInt8]) {
            precondition(digest.byteCount == Wire.digestByteCount)
            precondition(id.byteCount <= WireLimits.idByteCountMax)
            out.append(contentsOf: digest)
            out.append(littleEndian: byteCount)
            out.append(littleEndian: storedByteCount)
            out.append(littleEndian: expiryMilliseconds)
            out.append(littleEndian: revision)
            out.append(coding.rawValue)
            out.append(UInt8(id.byteCount))
            out.appendZeros(6)
            out.append(contentsOf: id)
        }
    }
}
