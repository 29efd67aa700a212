import Bytes
import Notifications

/// What a kind of device accepts as attachments of a notification. A publish with a profile is refused if its devices
/// do not accept a part's media type or size, before the part is uploaded if that is already known. The profile itself
/// is not stored.
public enum DeviceProfile: String, CaseIterable, Sendable, Hashable {
    /// iOS and related systems: what `UNNotificationAttachment` accepts.
    case ios
    /// Android: what a notification from FCM shows.
    case android

    /// The profile with this name. Throws `bad_profile`, which lists all names.
    public init(name: RawSpan) throws(ProtocolError) {
        for profile in Self.allCases where name.equals(profile.rawValue.utf8.span.bytes) {
            self = profile
            return
        }
        let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
        throw ProtocolError(
            .badProfile, "unknown profile \(name.excerpt()); known are \(known)")
    }

    /// The accepted attachments. A media type may have several names.
    private var attachments: [AttachmentRule] {
        switch self {
        case .ios:
            [
                AttachmentRule(
                    types: ["image/jpeg", "image/jpg", "image/gif", "image/png"],
                    byteCountMax: WireLimits.iosImageByteCountMax),
                AttachmentRule(
                    types: [
                        "audio/aiff", "audio/x-aiff",
                        "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave",
                        "audio/mpeg", "audio/mp3",
                        "audio/mp4", "audio/m4a", "audio/x-m4a",
                    ], byteCountMax: WireLimits.iosAudioByteCountMax),
                AttachmentRule(
                    types: [
                        "video/mpeg", "video/mp4", "video/avi", "video/x-msvideo", "video/vnd.avi",
                    ],
                    byteCountMax: WireLimits.iosVideoByteCountMax),
            ]
        case .android:
            [
                AttachmentRule(
                    types: ["image/"], isPrefix: true,
                    byteCountMax: WireLimits.androidImageByteCountMax)
            ]
        }
    }

    /// The maximum size of an attachment of a media type, in bytes; nil: the type is not accepted.
    public func attachmentByteCountMax(_ mediaType: RawSpan) -> Int? {
        let essence = MediaType.essence(mediaType)
        return attachments.first { $0.takes(essence) }?.byteCountMax
    }

    /// The maximum size of a part of a media type, in bytes. Throws `unsupported_attachment` for a type that the
    /// devices do not accept.
    public func byteCountMax(part: String, mediaType: String) throws(ProtocolError) -> Int {
        if let limit = attachmentByteCountMax(mediaType.utf8.span.bytes) { return limit }
        let rules = attachments
        let words = rules.map { rule in
            "\(rule.names.joined(separator: ", ")) up to \(rule.byteCountMax) bytes"
        }
        var error = ProtocolError(
            .unsupportedAttachment,
            "the part \(part) has the type \(mediaType); the profile \(rawValue) allows only \(words.joined(separator: "; "))"
        )
        error.members = [
            ProblemMember("part", .text(part)), ProblemMember("media_type", .text(mediaType)),
            ProblemMember("profile", .text(rawValue)),
            ProblemMember("allowed", .texts(rules.flatMap(\.names))),
        ]
        throw error
    }

    /// Also throws `attachment_too_large` for a part over the limit. `byteCount` is as given, before any compression.
    public func check(
        byteCount: UInt64, part: String, mediaType: String
    ) throws(ProtocolError) {
        let limit = try byteCountMax(part: part, mediaType: mediaType)
        guard byteCount > UInt64(limit) else { return }
        throw ProtocolError(
            attachmentByteCount: byteCount, part: part, mediaType: mediaType, limit: limit,
            profile: rawValue)
    }
}

/// Media types of one kind, in lower case, and their maximum size.
private struct AttachmentRule {
    let types: [StaticString]
    /// Whether each of ``types`` is a prefix, including the slash, of the matching types.
    var isPrefix = false
    let byteCountMax: Int

    func takes(_ essence: RawSpan) -> Bool {
        for type in types {
            if isPrefix ? essence.hasPrefixIgnoringCase(type) : essence.equalsIgnoringCase(type) {
                return true
            }
        }
        return false
    }

    var names: [String] { types.map { isPrefix ? "\($0)*" : "\($0)" } }
}

extension ProtocolError {
    /// `attachment_too_large`, with the actual and the maximum size.
    public init(
        attachmentByteCount byteCount: UInt64, part: String, mediaType: String, limit: Int,
        profile: String
    ) {
        self.init(
            .attachmentTooLarge,
            "the part \(part) of type \(mediaType) is \(byteCount) bytes long; the limit of the profile \(profile) is \(limit)",
            limit: limit)
        members = [
            ProblemMember("byte_count", .number(byteCount)),
            ProblemMember("part", .text(part)),
            ProblemMember("media_type", .text(mediaType)),
            ProblemMember("profile", .text(profile)),
        ]
    }
}
