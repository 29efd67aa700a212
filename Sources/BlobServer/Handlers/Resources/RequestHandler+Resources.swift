import BlobProtocol
import BlobStore
import Bytes
import Notifications

// What is done for a request for a resource: everything about it is checked here, before a byte of
// a body is read.

extension RequestHandler {
    /// Answers what can be answered in the snapshot, and says what else is to be done.
    func perform(
        _ request: ResourceRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        switch request.method {
        case .get: return try read(request, in: snapshot)
        case .delete: return try remove(request)
        default:
            if case .scrub = request.resource { return try scrub(request) }
            if case .replication = request.resource { return try promote(request) }
            return .receiveBody(try plan(request))
        }
    }

    /// Begins to read the store again.
    private func scrub(_ request: ResourceRequest) throws(ProtocolError) -> ActionStep {
        guard !isStopping else { throw .stopping }
        _ = try ResourceQuery(request.query)
        try Self.checkNoCondition(request)
        statistics.scrub.request()
        return .respond(scrubResponse)
    }

    /// Has this daemon take the lead of its shard.
    private func promote(_ request: ResourceRequest) throws(ProtocolError) -> ActionStep {
        guard !isStopping else { throw .stopping }
        let query = try ResourceQuery(request.query, "force")
        try Self.checkNoCondition(request)
        let force = try query.text("force", .badQuery) ?? "false"
        guard let isForced = Bool(force) else {
            throw ProtocolError(.badQuery, "force is \(force); it must be true or false")
        }
        switch replica.role {
        case .alone:
            throw ProtocolError(.notReplicated, "this daemon is not replicated (--follow)")
        case .leader: return .respond(replicationResponse)
        case .follower, .changing: return .write(.promote(isForced: isForced), .promoted)
        }
    }

    private var replicationResponse: Response {
        .document(
            Response.Document(body: ReplicationDocument(store, replica).numbers.finished()))
    }

    private var scrubResponse: Response {
        .document { ScrubDocument(store, statistics.scrub).append(to: &$0) }
    }

    private func read(
        _ request: ResourceRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        try requireAnswerMemory()
        switch request.resource {
        case .notification(let id):
            _ = try ResourceQuery(request.query)
            let record = try record(id.text.utf8.span.bytes, in: snapshot)
            try asked { () throws(StoreError) in try request.condition.check(record) }
            return .respond(.record(record))
        case .envelope(let id):
            return .respond(try envelope(id.text, request, in: snapshot))
        case .categories:
            let after = try ResourceQuery(request.query, "after")["after"] ?? []
            let page = try asked { () throws(StoreError) in
                try snapshot.categories(after: after.span.bytes, byteCountMax: pageByteCountMax)
            }
            return .respond(.document { CategoriesDocument.append(page, to: &$0) })
        case .category(let name):
            let app = try ResourceQuery(request.query, "app").app()
            let found = try asked { () throws(StoreError) in
                try snapshot.category(name.text, app: app?.text)
            }
            guard let found else { throw .notFound("category") }
            try asked { () throws(StoreError) in try request.condition.check(category: found) }
            return .respond(.category(found))
        case .ownerNotifications(let owner):
            return .respond(try history(of: owner.text, request, in: snapshot))
        case .ownerChanges(let owner):
            let query = try feedQuery(of: owner.text, request)
            return request.acceptsEvents ? .subscribe(query) : .awaitChanges(query)
        case .scrub:
            _ = try ResourceQuery(request.query)
            return .respond(scrubResponse)
        case .replication:
            _ = try ResourceQuery(request.query)
            return .respond(replicationResponse)
        case .heldBlob:
            throw ProtocolError(
                .methodNotAllowed, "call does not support GET of a blob; use getBlob")
        case .newNotification, .batch, .responses, .newBlob, .owner:
            throw ProtocolError(.methodNotAllowed, "this resource does not support GET")
        }
    }

    // MARK: - Removing

    private func remove(_ request: ResourceRequest) throws(ProtocolError) -> ActionStep {
        switch request.resource {
        case .notification(let id):
            _ = try ResourceQuery(request.query)
            let removal = CheckedChange.remove(
                id: id.text, device: request.device, condition: request.condition)
            return .write(.apply(removal), .removed("notification"))
        case .category(let name):
            let app = try ResourceQuery(request.query, "app").app()
            let removal = CheckedChange.removeCategory(
                name: name.text, app: app?.text, condition: request.condition)
            return .write(.apply(removal), .removed("category"))
        case .owner(let owner):
            _ = try ResourceQuery(request.query)
            try Self.checkNoCondition(request)
            return .write(.long(.deleteOwner(owner)), .ownerDeleted)
        case .ownerNotifications(let owner):
            let (group, app) = try Self.group(request)
            return .write(
                .long(
                    .deleteGroup(owner: owner, group: group, app: app, device: request.device)),
                .ownerDeleted)
        default:
            throw ProtocolError(.methodNotAllowed, "this resource does not support DELETE")
        }
    }

    /// The group that a change of many is of, and the app, where it is of one app's alone.
    private static func group(
        _ request: ResourceRequest
    ) throws(ProtocolError) -> (group: GroupName, app: AppName?) {
        let query = try ResourceQuery(request.query, "group", "app")
        try checkNoCondition(request)
        guard let group = try query.group() else {
            throw ProtocolError(
                .badQuery,
                "the parameter group is missing")
        }
        return (group, try query.app())
    }

    /// A condition that would be ignored is refused rather than passed over.
    private static func checkNoCondition(_ request: ResourceRequest) throws(ProtocolError) {
        guard request.condition == .none else {
            throw ProtocolError(
                .malformed, "this resource has no revision and does not support conditions")
        }
    }

    // MARK: - Bodies

    private func plan(_ request: ResourceRequest) throws(ProtocolError) -> BodyPlan {
        guard !isStopping else { throw .stopping }
        switch (request.resource, request.method) {
        case (.notification(let id), .put): return try notificationPlan(id, request)
        case (.newNotification, .post): return try notificationPlan(nil, request)
        case (.notification(let id), .patch):
            _ = try ResourceQuery(request.query)
            guard !limits.requiresIfMatch || request.condition.namesWhatIsThere else {
                throw ProtocolError(
                    .preconditionRequired,
                    "this daemon requires If-Match to patch a notification: give its revision, or *"
                )
            }
            return try documentPlan(.patch(id: id), request, isPatch: true)
        case (.batch, .post):
            // Its answer has a line for each of its own, and must not be refused in the end.
            try requireAnswerMemory()
            _ = try ResourceQuery(request.query)
            try Self.checkNoCondition(request)
            return BodyPlan(document: .batch, request)
        case (.responses(let id), .post):
            _ = try ResourceQuery(request.query)
            try Self.checkNoCondition(request)
            return try documentPlan(.response(id: id), request)
        case (.category(let name), .put):
            let app = try ResourceQuery(request.query, "app").app()
            return try documentPlan(.category(name: name, app: app), request)
        case (.ownerNotifications(let owner), .patch):
            let (group, app) = try Self.group(request)
            return try documentPlan(
                .groupPatch(owner: owner, group: group, app: app), request, isPatch: true)
        case (.heldBlob(let digest), .put): return try holdPlan(digest, request)
        case (.newBlob, .post): return try holdPlan(nil, request)
        default:
            throw ProtocolError(.methodNotAllowed, "this resource does not support the method")
        }
    }

    private func notificationPlan(
        _ id: NotificationID?, _ request: ResourceRequest
    ) throws(ProtocolError) -> BodyPlan {
        _ = try ResourceQuery(request.query)
        if let type = request.mediaType,
            type.isType("multipart/form-data")
        {
            guard request.coding == .identity else {
                throw ProtocolError(
                    .unsupportedContentCoding,
                    "a multipart body must not be compressed; documents, payloads and blobs may be")
            }
            let boundary = try MultipartParser.boundary(of: type.text.utf8.span.bytes)
            return BodyPlan(
                kind: .multipart(id: id, boundary: boundary), device: request.device,
                condition: request.condition,
                byteCountMax: limits.payloadByteCountMax + WireLimits.multipartExtraByteCountMax)
        }
        return try documentPlan(.notification(id: id), request)
    }

    /// A JSON document. A body whose type is not said is taken for one: it is looked at strictly.
    private func documentPlan(
        _ kind: BodyPlan.Kind, _ request: ResourceRequest, isPatch: Bool = false
    ) throws(ProtocolError) -> BodyPlan {
        if let type = request.mediaType {
            let isJSON = type.isType("application/json")
            let isMergePatch = isPatch && type.isType("application/merge-patch+json")
            guard isJSON || isMergePatch else {
                throw ProtocolError(
                    .unsupportedMediaType,
                    "the media type \(type.excerpt) is not supported; use application/json"
                        + (isPatch ? " or application/merge-patch+json" : ""))
            }
        }
        return BodyPlan(document: kind, request, condition: request.condition)
    }

    private func holdPlan(
        _ digest: Digest?, _ request: ResourceRequest
    ) throws(ProtocolError) -> BodyPlan {
        try Self.checkNoCondition(request)
        let query = try ResourceQuery(request.query, "ttl")
        let seconds = try query.number(
            "ttl", in: 1...Int(clamping: limits.ttlSecondsMax), .badTTL,
            default: min(LifetimeRules.holdSeconds, Int(clamping: limits.ttlSecondsMax)))
        return BodyPlan(
            kind: .heldBlob(
                digest, ttlSeconds: Int64(seconds),
                mediaType: request.mediaType ?? .octetStream),
            coding: request.coding,
            byteCountMax: request.coding == .identity
                ? limits.payloadByteCountMax : limits.codedByteCountMax)
    }
}
