import BlobProtocol
import BlobStore
import Notifications

// The calls that store the bytes of a body: a part's payload, or a held blob. The frame put is one, too.

extension RequestHandler {
    /// If the path names no id, the store chooses one. A part that it does not name is `payload`.
    func putPayload(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let lifetimes = LifetimeRules(limits)
        var said: Publication
        if let publication = request.publication {
            said = publication
        } else {
            said = try Publication(request.query, lifetimes)
        }
        said.texts.id = request.id
        // Without an expiry in the request, an existing notification keeps its own.
        let expiry =
            try lifetimes.chosen(said.lifetime, asOf: now)
            ?? .keepOrAfter(seconds: lifetimes.usualSeconds)
        let draft = PublicationDraft(
            said.texts, part: request.part ?? .payload,
            mediaType: request.mediaType ?? .octetStream,
            expiry: expiry, condition: request.condition,
            profile: said.profile ?? limits.profile)
        let use = PayloadUse.publish(draft)
        let plan = plan(use, request)
        if let byteCount = request.bodyByteCount, byteCount > UInt64(plan.byteCountMax) {
            throw plan.tooLarge
        }
        try checkEarly(draft, in: snapshot)
        // The length inside a coding is known once it is decoded; the store checks it then.
        try use.check(byteCount: request.coding == .identity ? request.bodyByteCount ?? 0 : 0)
        return .receiveBody(plan)
    }

    private func plan(_ use: PayloadUse, _ request: EndpointRequest) -> BodyPlan {
        BodyPlan(
            kind: .payload(use), coding: request.coding,
            byteCountMax: request.coding == .identity
                ? limits.payloadByteCountMax : limits.codedByteCountMax)
    }

    /// Refuses a change before its body arrives, if the snapshot surely contains everything acknowledged. Otherwise the
    /// transaction decides.
    private func checkEarly(
        _ draft: PublicationDraft, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) {
        guard draft.condition != .none, let id = draft.texts.id?.text,
            snapshot.isCurrent
        else { return }
        let lookup = try asked(try snapshot.record(for: id.utf8.span.bytes, asOf: now))
        var live: Record?
        if case .found(let record) = lookup { live = record }
        try asked(try draft.condition.check(live, part: draft.part.text))
    }

    /// Holds a blob. In a POST, its bytes name it.
    func holdBlob(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let seconds = try request.query.ttlSeconds(LifetimeRules(limits))
        let use = PayloadUse.hold(
            request.digest,
            ttlSeconds: seconds ?? min(LifetimeRules.holdSeconds, limits.ttlSecondsMax),
            mediaType: request.mediaType ?? .octetStream)
        return .receiveBody(plan(use, request))
    }
}
