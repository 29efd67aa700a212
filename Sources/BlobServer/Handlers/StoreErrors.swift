import BlobProtocol
import BlobStore
import Bytes

extension ProtocolError {
    /// Adds how much a long change did before it was refused. Repeating the request does the rest.
    func after(_ change: LongChange) -> ProtocolError {
        var error = self
        if change.changed > 0 { error.members.append(.changed(by: change)) }
        if change.damaged > 0 { error.members += ProblemMember.damaged(of: change) }
        return error
    }

    /// A long change was done but for damaged notifications: whoever removes an account must not take it for gone.
    init(leftBehind change: LongChange) {
        let ids = change.damagedIDs.joined(separator: ", ")
        let others = change.damaged - change.damagedIDs.count
        let named = ids.isEmpty ? "" : others > 0 ? ": \(ids) and \(others) more" : ": \(ids)"
        self.init(
            .corrupt,
            "\(change.damaged) damaged notifications are left as they were\(named); \(change.changed) others were changed or deleted. Run blobd verify"
        )
        members = [.changed(by: change)] + ProblemMember.damaged(of: change)
    }
}

extension ProblemMember {
    /// Of a `payload_too_large`: the limit follows from this setting.
    static let maxPayload = ProblemMember("setting", .text("max-payload"))

    fileprivate static func changed(by change: LongChange) -> ProblemMember {
        ProblemMember("changed", .number(UInt64(change.changed)))
    }

    fileprivate static func damaged(of change: LongChange) -> [ProblemMember] {
        [
            ProblemMember("damaged", .number(UInt64(change.damaged))),
            ProblemMember("damaged_ids", .texts(change.damagedIDs)),
        ]
    }
}

extension ProtocolError {
    /// When a client that gets a 503 should try again (`Retry-After`).
    static let retryAfterSeconds: UInt64 = 1

    /// The daemon's own failures are named, not described: the log has the details.
    init(_ error: StoreError) {
        switch error {
        case .invalid(let input):
            self.init(ErrorCode(ofField: input.name), input.description, limit: input.limit)
            if input.field == .payload { members = [.maxPayload] }
        case .full:
            self.init(
                .full, "no space left; delete notifications, or enlarge the disk or --map-size"
            )
        case .quotaExceeded(let excess):
            self.init(
                .quotaExceeded, excess.description,
                status: excess.setting.isOfOwner ? 429 : 507, limit: excess.limit)
            let isFree = excess.setting == .freeDiskByteCountMin
            members = [
                ProblemMember(isFree ? "free" : "used", .number(UInt64(clamping: excess.used))),
                ProblemMember("setting", .text(excess.setting.rawValue)),
            ]
        case .corrupt:
            self.init(.corrupt, "the stored bytes failed their checksum and are not sent")
        case .evicted:
            self.init(
                .unavailable, "the payload is evicted to the bucket; try again")
        case .hasEvicted: self.init(.unavailable, error.description)
        case .outcomeUnknown:
            self.init(
                .outcomeUnknown,
                "it is unknown whether the change is on disk, and the daemon stops; check it after the restart, or repeat it"
            )
        case .notLeading: self.init(.follower, "the leader is changing; try again")
        case .readersFull:
            self.init(.unavailable, "too many open snapshots; try again")
        case .categoryPreconditionFailed(let revision):
            self.init(.preconditionFailed, error.description)
            members = [ProblemMember("revision", revision.map { .number($0) } ?? .null)]
        case .preconditionFailed(let state):
            self.init(.preconditionFailed, error.description)
            members = [ProblemMember("revision", state.revision.map { .number($0) } ?? .null)]
            if let digest = state.digest {
                members.append(ProblemMember("digest", .text("\(digest)")))
            }
        case .unknownCategory: self.init(.unknownCategory, error.description)
        case .emptyNotification: self.init(.emptyNotification, error.description)
        case .unknownDigest: self.init(.unknownDigest, error.description)
        case .digestMismatch(let expected, let actual):
            self.init(.digestMismatch, error.description)
            members = [
                ProblemMember("expected", .text("\(expected)")),
                ProblemMember("actual", .text("\(actual)")),
            ]
        case .attachmentTooLarge(let byteCount, let part, let mediaType, let limit):
            self.init(
                attachmentByteCount: UInt64(clamping: byteCount), part: part, mediaType: mediaType,
                limit: limit.byteCountMax, profile: limit.name)
        case .unknownAction: self.init(.unknownAction, error.description)
        case .responseConflict: self.init(.responseConflict, error.description)
        case .resync: self.init(.resync, error.description)
        case .tooManyWatchers(let limit, let which):
            self.init(.tooManyRequests, error.description, limit: limit)
            members = [ProblemMember("limit_name", .text(which.rawValue))]
        case .cannotOpen, .damaged, .io:
            self.init(.internalError, "store error: \(error)")
        }
    }

    /// Why a publish cannot be stored now: a 503, with the code that a publish would get as its `reason`.
    init(notReady error: StoreError) {
        let publish = ProtocolError(error)
        self.init(
            .unavailable, "cannot store a publish: \(publish.detail)",
            limit: publish.limit.map { Int(clamping: $0) })
        members = [ProblemMember("reason", .text(publish.code.rawValue))] + publish.members
    }

    /// Why nothing can be read now: a 503.
    init(noSnapshot error: StoreError) {
        let problem = ProtocolError(error)
        self =
            problem.status == 503
            ? problem : ProtocolError(.unavailable, "cannot read the store: \(problem.detail)")
    }

    init(notReady publish: ProtocolError) {
        self.init(.unavailable, "cannot take a publish: \(publish.detail)")
        members = [ProblemMember("reason", .text(publish.code.rawValue))]
    }

    init(_ error: EnvelopeError) {
        switch error {
        case .tooLarge(let byteCount, let limit):
            self.init(
                .envelopeTooLarge,
                "the push is \(byteCount) bytes long; the push service's limit is \(limit)",
                limit: limit)
        case .noMessage:
            self.init(
                .noMessage, "an alert needs a title or a message")
        case .silentWebPush:
            self.init(
                .badQuery,
                "style silent is not for webpush: browsers demand that every push shows a notification; use style=alert"
            )
        }
    }

    static let outcomeMismatch = ProtocolError(
        .internalError, "the outcome does not match the request")

    static func notFound(_ thing: StaticString) -> ProtocolError {
        ProtocolError(.notFound, "the \(thing) was not found")
    }

    /// It existed until `moment`; nil: the time is not known.
    static func expired(_ thing: StaticString, at moment: Timestamp?) -> ProtocolError {
        guard let moment else { return ProtocolError(.expired, "the \(thing) has expired") }
        let time = RFC3339.text(moment.milliseconds)
        var error = ProtocolError(.expired, "the \(thing) expired at \(time)")
        error.members = [ProblemMember("expired_at", .text(time))]
        return error
    }

    static func noBodyMemory(_ limits: BodyMemory.Limits) -> ProtocolError {
        let seconds = Self.retryAfterSeconds
        var error = ProtocolError(
            .unavailable,
            "the memory for bodies (\(limits.byteCountMax) bytes) is used up; "
                + "try again in \(seconds) s",
            limit: limits.byteCountMax)
        error.members = [ProblemMember("retry_after", .number(seconds))]
        return error
    }

    static let stopping = ProtocolError(.stopping, "the daemon is stopping; try again")
}
