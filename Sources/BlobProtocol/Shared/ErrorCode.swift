/// The stable names of what can go wrong, the same in both dialects: the `code` of a problem
/// document. Names are added, and never change their meaning or their status.
public enum ErrorCode: String, CaseIterable, Sendable {
    // 400: the request itself.
    case malformed
    case reserved
    case version
    case badID = "bad_id"
    case badPart = "bad_part"
    case badTTL = "bad_ttl"
    case badExpiry = "bad_expiry"
    case badMediaType = "bad_media_type"
    case badOwner = "bad_owner"
    case badRichType = "bad_rich_type"
    case badMessage = "bad_message"
    case badTitle = "bad_title"
    case badApp = "bad_app"
    case badQuery = "bad_query"
    case badDigest = "bad_digest"
    case bodyMismatch = "body_mismatch"
    case badCoding = "bad_coding"
    case badJSON = "bad_json"
    case notUTF8 = "not_utf8"
    case duplicateKey = "duplicate_key"
    case tooDeep = "too_deep"
    case badDocument = "bad_document"
    case unknownMember = "unknown_member"
    case immutableMember = "immutable_member"
    case badActionState = "bad_action_state"
    case badPriority = "bad_priority"
    case badDisplayTTL = "bad_display_ttl"
    case badCategory = "bad_category"
    case badGroup = "bad_group"
    case badDevice = "bad_device"
    case badData = "bad_data"
    case badResponse = "bad_response"
    case badActions = "bad_actions"
    case badOptions = "bad_options"
    case unknownCategory = "unknown_category"
    case unknownAction = "unknown_action"
    case unknownDigest = "unknown_digest"
    case digestMismatch = "digest_mismatch"
    case badMultipart = "bad_multipart"
    case partMissing = "part_missing"
    case partUnexpected = "part_unexpected"
    case tooManyParts = "too_many_parts"
    case badCursor = "bad_cursor"
    case badLimit = "bad_limit"
    case badWait = "bad_wait"
    case badPlatform = "bad_platform"
    case badProfile = "bad_profile"
    case badTargetHost = "bad_target_host"
    // 403 to 431: what it asks for.
    case forbidden
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case notAcceptable = "not_acceptable"
    case timeout
    case expired
    case lengthRequired = "length_required"
    case preconditionFailed = "precondition_failed"
    case preconditionRequired = "precondition_required"
    case payloadTooLarge = "payload_too_large"
    case uriTooLong = "uri_too_long"
    case unsupportedContentCoding = "unsupported_content_coding"
    case badRange = "bad_range"
    case expectationFailed = "expectation_failed"
    case tooManyRequests = "too_many_requests"
    case headersTooLarge = "headers_too_large"
    case responseConflict = "response_conflict"
    case resync
    case recordTooLarge = "record_too_large"
    case unsupportedMediaType = "unsupported_media_type"
    case envelopeTooLarge = "envelope_too_large"
    case attachmentTooLarge = "attachment_too_large"
    case unsupportedAttachment = "unsupported_attachment"
    case noMessage = "no_message"
    case emptyNotification = "empty_notification"
    // 5xx: the daemon.
    case internalError = "internal"
    case corrupt
    case outcomeUnknown = "outcome_unknown"
    case unsupportedTransferCoding = "unsupported_transfer_coding"
    case stopping
    case unavailable
    case versionNotSupported = "version_not_supported"
    /// The daemon follows another one, which takes the changes.
    case follower
    /// Changes are not replicated fast enough, or not at all.
    case unreplicated
    /// A follower has not got what its client has seen elsewhere.
    case behind
    /// What the client has seen was lost with the host that had it.
    case sequenceLost = "sequence_lost"
    /// The daemon is not replicated.
    case notReplicated = "not_replicated"
    case full
    /// A limit of the store (507) or of an owner (429); ``ProtocolError/status`` says which.
    case quotaExceeded = "quota_exceeded"

    /// The status that goes with the code: HTTP's number, in both dialects. Of
    /// ``quotaExceeded``: where the limit is the store's.
    public var status: UInt16 {
        switch self {
        case .malformed, .reserved, .version, .badID, .badPart, .badTTL, .badExpiry, .badMediaType,
            .badOwner, .badRichType, .badMessage, .badTitle, .badApp, .badQuery, .badDigest,
            .bodyMismatch, .badCoding, .badJSON, .notUTF8, .duplicateKey, .tooDeep,
            .badDocument, .unknownMember,
            .immutableMember, .badActionState, .badPriority, .badDisplayTTL, .badCategory,
            .badGroup, .badDevice, .badData, .badResponse, .badActions, .badOptions,
            .unknownCategory,
            .unknownAction, .unknownDigest, .digestMismatch, .badMultipart, .partMissing,
            .partUnexpected, .tooManyParts, .badCursor, .badLimit, .badWait, .badPlatform,
            .badProfile, .badTargetHost:
            400
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .notAcceptable: 406
        case .timeout: 408
        case .responseConflict, .sequenceLost, .notReplicated: 409
        case .expired, .resync: 410
        case .lengthRequired: 411
        case .preconditionFailed: 412
        case .payloadTooLarge, .recordTooLarge: 413
        case .uriTooLong: 414
        case .unsupportedContentCoding, .unsupportedMediaType: 415
        case .envelopeTooLarge, .noMessage, .emptyNotification, .attachmentTooLarge,
            .unsupportedAttachment:
            422
        case .badRange: 416
        case .expectationFailed: 417
        case .preconditionRequired: 428
        case .tooManyRequests: 429
        case .headersTooLarge: 431
        case .internalError, .corrupt, .outcomeUnknown: 500
        case .unsupportedTransferCoding: 501
        case .stopping, .unavailable, .follower, .unreplicated, .behind: 503
        case .versionNotSupported: 505
        case .full, .quotaExceeded: 507
        }
    }

    /// The problem's title: short, for people, the same every time (RFC 9457, section 3.1.3).
    public var title: String {
        switch self {
        case .malformed: "Malformed request"
        case .reserved: "Reserved field is not 0"
        case .version: "No common protocol version"
        case .badID: "Bad notification id"
        case .badPart: "Bad part name"
        case .badTTL: "Bad lifetime"
        case .badExpiry: "Bad expiry"
        case .badMediaType: "Bad media type"
        case .badOwner: "Bad owner"
        case .badRichType: "Bad rich type"
        case .badMessage: "Bad message"
        case .badTitle: "Bad title"
        case .badApp: "Bad app"
        case .badQuery: "Bad query"
        case .badDigest: "Bad digest"
        case .bodyMismatch: "Body does not match its head"
        case .badCoding: "Bad content coding"
        case .forbidden: "Forbidden"
        case .notFound: "Not found"
        case .methodNotAllowed: "Method not allowed"
        case .notAcceptable: "Not acceptable"
        case .timeout: "Request timed out"
        case .expired: "Expired"
        case .lengthRequired: "Length required"
        case .preconditionFailed: "Precondition failed"
        case .preconditionRequired: "Precondition required"
        case .payloadTooLarge: "Payload too large"
        case .uriTooLong: "Request line too long"
        case .unsupportedContentCoding: "Unsupported content coding"
        case .badRange: "Range not satisfiable"
        case .expectationFailed: "Expectation failed"
        case .tooManyRequests: "Too many requests"
        case .headersTooLarge: "Header section too large"
        case .internalError: "Internal error"
        case .corrupt: "Stored data corrupt"
        case .outcomeUnknown: "Outcome unknown"
        case .unsupportedTransferCoding: "Unsupported transfer coding"
        case .stopping: "Stopping"
        case .unavailable: "Unavailable"
        case .follower: "Not the leader"
        case .unreplicated: "Not replicated yet"
        case .behind: "Behind the leader"
        case .sequenceLost: "Change lost"
        case .notReplicated: "Not replicated"
        case .versionNotSupported: "HTTP version not supported"
        case .full: "No space left"
        case .quotaExceeded: "Quota exceeded"
        case .badJSON: "Invalid JSON"
        case .notUTF8: "Invalid UTF-8"
        case .duplicateKey: "Key given twice"
        case .tooDeep: "Nested too deep"
        case .badDocument: "Bad document"
        case .unknownMember: "Unknown member"
        case .immutableMember: "Member cannot be changed"
        case .badActionState: "Bad action state"
        case .badPriority: "Bad priority"
        case .badDisplayTTL: "Bad display time"
        case .badCategory: "Bad category"
        case .badGroup: "Bad group"
        case .badDevice: "Bad device"
        case .badData: "Bad data"
        case .badResponse: "Bad response"
        case .badActions: "Bad actions"
        case .badOptions: "Bad options"
        case .unknownCategory: "Unknown category"
        case .unknownAction: "Unknown action"
        case .unknownDigest: "Unknown digest"
        case .digestMismatch: "Digest mismatch"
        case .badMultipart: "Bad multipart body"
        case .partMissing: "Part missing"
        case .partUnexpected: "Unexpected part"
        case .tooManyParts: "Too many parts"
        case .badCursor: "Bad cursor"
        case .badLimit: "Bad limit"
        case .badWait: "Bad wait"
        case .badPlatform: "Bad platform"
        case .badProfile: "Bad profile"
        case .badTargetHost: "Bad target host"
        case .responseConflict: "Response conflict"
        case .resync: "Cursor too old"
        case .recordTooLarge: "Record too large"
        case .unsupportedMediaType: "Unsupported media type"
        case .envelopeTooLarge: "Envelope too large"
        case .attachmentTooLarge: "Attachment too large"
        case .unsupportedAttachment: "Unsupported attachment"
        case .noMessage: "No message"
        case .emptyNotification: "Empty notification"
        }
    }
}
