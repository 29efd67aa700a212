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
    public var status: UInt16 { row.status }

    /// The problem's title: short, for people, the same every time (RFC 9457, section 3.1.3).
    public var title: String { row.title }

    private var row: (status: UInt16, title: String) {
        switch self {
        case .malformed: (400, "Malformed request")
        case .reserved: (400, "Reserved field is not 0")
        case .version: (400, "No common protocol version")
        case .badID: (400, "Bad notification id")
        case .badPart: (400, "Bad part name")
        case .badTTL: (400, "Bad lifetime")
        case .badExpiry: (400, "Bad expiry")
        case .badMediaType: (400, "Bad media type")
        case .badOwner: (400, "Bad owner")
        case .badRichType: (400, "Bad rich type")
        case .badMessage: (400, "Bad message")
        case .badTitle: (400, "Bad title")
        case .badApp: (400, "Bad app")
        case .badQuery: (400, "Bad query")
        case .badDigest: (400, "Bad digest")
        case .bodyMismatch: (400, "Body does not match its head")
        case .badCoding: (400, "Bad content coding")
        case .badJSON: (400, "Invalid JSON")
        case .notUTF8: (400, "Invalid UTF-8")
        case .duplicateKey: (400, "Key given twice")
        case .tooDeep: (400, "Nested too deep")
        case .badDocument: (400, "Bad document")
        case .unknownMember: (400, "Unknown member")
        case .immutableMember: (400, "Member cannot be changed")
        case .badActionState: (400, "Bad action state")
        case .badPriority: (400, "Bad priority")
        case .badDisplayTTL: (400, "Bad display time")
        case .badCategory: (400, "Bad category")
        case .badGroup: (400, "Bad group")
        case .badDevice: (400, "Bad device")
        case .badData: (400, "Bad data")
        case .badResponse: (400, "Bad response")
        case .badActions: (400, "Bad actions")
        case .badOptions: (400, "Bad options")
        case .unknownCategory: (400, "Unknown category")
        case .unknownAction: (400, "Unknown action")
        case .unknownDigest: (400, "Unknown digest")
        case .digestMismatch: (400, "Digest mismatch")
        case .badMultipart: (400, "Bad multipart body")
        case .partMissing: (400, "Part missing")
        case .partUnexpected: (400, "Unexpected part")
        case .tooManyParts: (400, "Too many parts")
        case .badCursor: (400, "Bad cursor")
        case .badLimit: (400, "Bad limit")
        case .badWait: (400, "Bad wait")
        case .badPlatform: (400, "Bad platform")
        case .badProfile: (400, "Bad profile")
        case .badTargetHost: (400, "Bad target host")
        case .forbidden: (403, "Forbidden")
        case .notFound: (404, "Not found")
        case .methodNotAllowed: (405, "Method not allowed")
        case .notAcceptable: (406, "Not acceptable")
        case .timeout: (408, "Request timed out")
        case .expired: (410, "Expired")
        case .lengthRequired: (411, "Length required")
        case .preconditionFailed: (412, "Precondition failed")
        case .preconditionRequired: (428, "Precondition required")
        case .payloadTooLarge: (413, "Payload too large")
        case .uriTooLong: (414, "Request line too long")
        case .unsupportedContentCoding: (415, "Unsupported content coding")
        case .badRange: (416, "Range not satisfiable")
        case .expectationFailed: (417, "Expectation failed")
        case .tooManyRequests: (429, "Too many requests")
        case .headersTooLarge: (431, "Header section too large")
        case .responseConflict: (409, "Response conflict")
        case .resync: (410, "Cursor too old")
        case .recordTooLarge: (413, "Record too large")
        case .unsupportedMediaType: (415, "Unsupported media type")
        case .envelopeTooLarge: (422, "Envelope too large")
        case .attachmentTooLarge: (422, "Attachment too large")
        case .unsupportedAttachment: (422, "Unsupported attachment")
        case .noMessage: (422, "No message")
        case .emptyNotification: (422, "Empty notification")
        case .internalError: (500, "Internal error")
        case .corrupt: (500, "Stored data corrupt")
        case .outcomeUnknown: (500, "Outcome unknown")
        case .unsupportedTransferCoding: (501, "Unsupported transfer coding")
        case .stopping: (503, "Stopping")
        case .unavailable: (503, "Unavailable")
        case .versionNotSupported: (505, "HTTP version not supported")
        case .follower: (503, "Not the leader")
        case .unreplicated: (503, "Not replicated yet")
        case .behind: (503, "Behind the leader")
        case .sequenceLost: (409, "Change lost")
        case .notReplicated: (409, "Not replicated")
        case .full: (507, "No space left")
        case .quotaExceeded: (507, "Quota exceeded")
        }
    }
}
