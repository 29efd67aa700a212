import Bytes

/// What a kind of device takes as attachments of a notification. A publish that names a profile is
/// refused where a part is larger than its devices take, before it is uploaded where its size is
/// known by then. The profile itself is not stored.
public enum DeviceProfile: String, CaseIterable, Sendable, Hashable {
    /// iOS and its kin: the limits of `UNNotificationAttachment`.
    case ios

    /// The profile of that name. Throws `bad_profile`, naming those there are.
    public init(name: RawSpan) throws(ProtocolError) {
        for profile in Self.allCases where name.equals(profile.rawValue.utf8.span.bytes) {
            self = profile
            return
        }
        let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
        throw ProtocolError(
            .badProfile, "unknown profile \(name.excerpt()); known are \(known)")
    }

    /// The most bytes of an attachment of a media type; nil: no limit of its own.
    public func attachmentByteCountMax(_ mediaType: RawSpan) -> Int? {
        switch self {
        case .ios:
            if mediaType.hasPrefixIgnoringCase("image/") { return WireLimits.iosImageByteCountMax }
            if mediaType.hasPrefixIgnoringCase("audio/") { return WireLimits.iosAudioByteCountMax }
            if mediaType.hasPrefixIgnoringCase("video/") { return WireLimits.iosVideoByteCountMax }
            return nil
        }
    }

    /// Throws `attachment_too_large` for an attachment over the limit. `byteCount` is as given, before
    /// any compression.
    public func check(byteCount: UInt64, mediaType: RawSpan) throws(ProtocolError) {
        guard let limit = attachmentByteCountMax(mediaType), byteCount > UInt64(limit) else {
            return
        }
        throw ProtocolError(
            attachmentByteCount: byteCount, mediaType: mediaType.text(), limit: limit,
            profile: rawValue)
    }
}

extension ProtocolError {
    /// `attachment_too_large`, with what was given and what is taken.
    public init(
        attachmentByteCount byteCount: UInt64, mediaType: String, limit: Int, profile: String
    ) {
        self.init(
            .attachmentTooLarge,
            "the attachment of type \(mediaType) is \(byteCount) bytes long; the limit of the profile \(profile) is \(limit)",
            limit: limit)
        members = [
            ProblemMember("byte_count", .number(byteCount)),
            ProblemMember("media_type", .text(mediaType)),
            ProblemMember("profile", .text(profile)),
        ]
    }
}
