/// The stable names of errors in both dialects: the `code` of a problem document. Names may be added, but never change
/// their meaning or status.
public enum ErrorCode: RawRepresentable, CaseIterable, Hashable, Sendable {
    // 400: the request itself.
    case malformed, reserved, version, badID, badPart, badTTL, badExpiry, badMediaType, badOwner
    case badRichType, badMessage, badTitle, badApp, badQuery, badDigest, bodyMismatch, badCoding
    case badJSON, notUTF8, duplicateKey, tooDeep, badDocument, unknownMember, immutableMember
    case badActionState, badPriority, badDisplayTTL, badCategory, badGroup, badDevice, badData
    case badResponse, badActions, badOptions, unknownCategory, unknownAction, unknownDigest
    case digestMismatch, badMultipart, partMissing, partUnexpected, tooManyParts, badCursor
    case badLimit, badWait, badPlatform, badProfile, badTargetHost
    // 401 to 431: what the request asks for.
    case badToken, insufficientScope, forbidden, notFound, methodNotAllowed, notAcceptable
    case timeout, expired, lengthRequired
    case preconditionFailed, preconditionRequired, payloadTooLarge, uriTooLong
    case unsupportedContentCoding, badRange, expectationFailed, tooManyRequests, headersTooLarge
    case responseConflict, resync, recordTooLarge, unsupportedMediaType, envelopeTooLarge
    case attachmentTooLarge, unsupportedAttachment, noMessage, emptyNotification, sequenceLost
    case notReplicated
    // 5xx: the daemon.
    case internalError, corrupt, outcomeUnknown, unsupportedTransferCoding, stopping
    case unavailable, versionNotSupported, follower, unreplicated, behind, full, quotaExceeded

    /// The code with this name; nil for any other text. A linear search.
    public init?(rawValue: String) {
        guard let code = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = code
    }

    /// Its name.
    public var rawValue: String { row.name }

    /// The HTTP status of the code, in both dialects. For ``quotaExceeded``, that of a limit of the store.
    public var status: UInt16 { row.status }

    /// The title of the problem: short, for display, and constant (RFC 9457, section 3.1.3).
    public var title: String { row.title }

    private var row: (name: String, status: UInt16, title: String) {
        switch self {
        case .malformed: ("malformed", 400, "Malformed request")
        case .reserved: ("reserved", 400, "Reserved field is not 0")
        case .version: ("version", 400, "No common protocol version")
        case .badID: ("bad_id", 400, "Bad notification id")
        case .badPart: ("bad_part", 400, "Bad part name")
        case .badTTL: ("bad_ttl", 400, "Bad lifetime")
        case .badExpiry: ("bad_expiry", 400, "Bad expiry")
        case .badMediaType: ("bad_media_type", 400, "Bad media type")
        case .badOwner: ("bad_owner", 400, "Bad owner")
        case .badRichType: ("bad_rich_type", 400, "Bad rich type")
        case .badMessage: ("bad_message", 400, "Bad message")
        case .badTitle: ("bad_title", 400, "Bad title")
        case .badApp: ("bad_app", 400, "Bad app")
        case .badQuery: ("bad_query", 400, "Bad query")
        case .badDigest: ("bad_digest", 400, "Bad digest")
        case .bodyMismatch: ("body_mismatch", 400, "Body does not match its head")
        case .badCoding: ("bad_coding", 400, "Bad content coding")
        case .badJSON: ("bad_json", 400, "Invalid JSON")
        case .notUTF8: ("not_utf8", 400, "Invalid UTF-8")
        case .duplicateKey: ("duplicate_key", 400, "Key given twice")
        case .tooDeep: ("too_deep", 400, "Nested too deep")
        case .badDocument: ("bad_document", 400, "Bad document")
        case .unknownMember: ("unknown_member", 400, "Unknown member")
        case .immutableMember: ("immutable_member", 400, "Member cannot be changed")
        case .badActionState: ("bad_action_state", 400, "Bad action state")
        case .badPriority: ("bad_priority", 400, "Bad priority")
        case .badDisplayTTL: ("bad_display_ttl", 400, "Bad display time")
        case .badCategory: ("bad_category", 400, "Bad category")
        case .badGroup: ("bad_group", 400, "Bad group")
        case .badDevice: ("bad_device", 400, "Bad device")
        case .badData: ("bad_data", 400, "Bad data")
        case .badResponse: ("bad_response", 400, "Bad response")
        case .badActions: ("bad_actions", 400, "Bad actions")
        case .badOptions: ("bad_options", 400, "Bad options")
        case .unknownCategory: ("unknown_category", 400, "Unknown category")
        case .unknownAction: ("unknown_action", 400, "Unknown action")
        case .unknownDigest: ("unknown_digest", 400, "Unknown digest")
        case .digestMismatch: ("digest_mismatch", 400, "Digest mismatch")
        case .badMultipart: ("bad_multipart", 400, "Bad multipart body")
        case .partMissing: ("part_missing", 400, "Part missing")
        case .partUnexpected: ("part_unexpected", 400, "Unexpected part")
        case .tooManyParts: ("too_many_parts", 400, "Too many parts")
        case .badCursor: ("bad_cursor", 400, "Bad cursor")
        case .badLimit: ("bad_limit", 400, "Bad limit")
        case .badWait: ("bad_wait", 400, "Bad wait")
        case .badPlatform: ("bad_platform", 400, "Bad platform")
        case .badProfile: ("bad_profile", 400, "Bad profile")
        case .badTargetHost: ("bad_target_host", 400, "Bad target host")
        case .badToken: ("bad_token", 401, "Bad token")
        case .insufficientScope: ("insufficient_scope", 403, "Insufficient scope")
        case .forbidden: ("forbidden", 403, "Forbidden")
        case .notFound: ("not_found", 404, "Not found")
        case .methodNotAllowed: ("method_not_allowed", 405, "Method not allowed")
        case .notAcceptable: ("not_acceptable", 406, "Not acceptable")
        case .timeout: ("timeout", 408, "Request timed out")
        case .expired: ("expired", 410, "Expired")
        case .lengthRequired: ("length_required", 411, "Length required")
        case .preconditionFailed: ("precondition_failed", 412, "Precondition failed")
        case .preconditionRequired: ("precondition_required", 428, "Precondition required")
        case .payloadTooLarge: ("payload_too_large", 413, "Payload too large")
        case .uriTooLong: ("uri_too_long", 414, "Request line too long")
        case .unsupportedContentCoding:
            ("unsupported_content_coding", 415, "Unsupported content coding")
        case .badRange: ("bad_range", 416, "Range not satisfiable")
        case .expectationFailed: ("expectation_failed", 417, "Expectation failed")
        case .tooManyRequests: ("too_many_requests", 429, "Too many requests")
        case .headersTooLarge: ("headers_too_large", 431, "Header section too large")
        case .responseConflict: ("response_conflict", 409, "Response conflict")
        case .resync: ("resync", 410, "Cursor too old")
        case .recordTooLarge: ("record_too_large", 413, "Record too large")
        case .unsupportedMediaType: ("unsupported_media_type", 415, "Unsupported media type")
        case .envelopeTooLarge: ("envelope_too_large", 422, "Envelope too large")
        case .attachmentTooLarge: ("attachment_too_large", 422, "Attachment too large")
        case .unsupportedAttachment: ("unsupported_attachment", 422, "Unsupported attachment")
        case .noMessage: ("no_message", 422, "No message")
        case .emptyNotification: ("empty_notification", 422, "Empty notification")
        // The change that the client has seen was lost with the host that had it.
        case .sequenceLost: ("sequence_lost", 409, "Change lost")
        // The daemon is not replicated.
        case .notReplicated: ("not_replicated", 409, "Not replicated")
        case .internalError: ("internal", 500, "Internal error")
        case .corrupt: ("corrupt", 500, "Stored data corrupt")
        case .outcomeUnknown: ("outcome_unknown", 500, "Outcome unknown")
        case .unsupportedTransferCoding:
            ("unsupported_transfer_coding", 501, "Unsupported transfer coding")
        case .stopping: ("stopping", 503, "Stopping")
        case .unavailable: ("unavailable", 503, "Unavailable")
        case .versionNotSupported: ("version_not_supported", 505, "HTTP version not supported")
        // The daemon is a follower; its leader accepts changes.
        case .follower: ("follower", 503, "Not the leader")
        // Changes are replicated too slowly, or not at all.
        case .unreplicated: ("unreplicated", 503, "Not replicated yet")
        // A follower has not applied what its client has seen elsewhere.
        case .behind: ("behind", 503, "Behind the leader")
        case .full: ("full", 507, "No space left")
        // A limit of the store (507) or of an owner (429); ``ProtocolError/status`` tells which.
        case .quotaExceeded: ("quota_exceeded", 507, "Quota exceeded")
        }
    }
}
