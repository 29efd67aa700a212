import BlobProtocol
import BlobStore
import Bytes
import Notifications

// The calls for notifications and categories. The whole head is checked before a byte of a body is read.

extension RequestHandler {
    func listNotifications(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let query = request.query
        let limit = try query.number(
            "limit", in: 1...WireLimits.listLimitMax, .badLimit, default: WireLimits.listLimitMax)
        let after = query["after"] ?? []
        if !after.isEmpty { _ = try NotificationID(onWire: after.span.bytes) }
        let page = try asked(
            try snapshot.records(
                after: after.span.bytes, limit: limit, byteCountMax: pageByteCountMax, asOf: now))
        return .respond(.document { PageDocument.append(page, to: &$0) })
    }

    func getNotification(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let id = try request.required(request.id)
        let record = try record(id.text.utf8.span.bytes, for: request, in: snapshot)
        try asked(try request.condition.check(record))
        return .respond(.record(record))
    }

    /// A PUT, or a POST whose body may also be a payload's bytes.
    func putNotification(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        if request.hasPayload { return try putPayload(request, in: snapshot) }
        let id = request.id
        if let type = request.mediaType, type.isType("multipart/form-data") {
            try require(
                request.coding == .identity, .unsupportedContentCoding,
                "a multipart body must not be compressed; documents, payloads and blobs may be")
            let boundary = try MultipartParser.boundary(of: type.text.utf8.span.bytes)
            return .receiveBody(
                BodyPlan(
                    kind: .multipart(id: id, boundary: boundary), device: request.device,
                    condition: request.condition,
                    byteCountMax: limits.payloadByteCountMax + WireLimits.multipartExtraByteCountMax
                ))
        }
        return try receive(request, .location(isAssigned: id == nil)) {
            (reader, bytes, plan) throws(ProtocolError) in
            .apply(try reader.publication(bytes, id: id, plan).change)
        }
    }

    func patchNotification(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        try require(
            !limits.requiresIfMatch || request.condition.namesWhatIsThere, .preconditionRequired,
            "this daemon requires If-Match to patch a notification: give its revision, or *")
        let id = try request.required(request.id)
        let scope = request.scope
        return try receive(request, .nothing) { (reader, bytes, plan) throws(ProtocolError) in
            var patch = try reader.patch(bytes, plan)
            try require(
                scope == nil || patch.isOfStateAlone, .immutableMember,
                "a device can change only read and action_state")
            patch.scope = scope
            patch.id = id.text
            patch.condition = plan.condition
            return .apply(try reader.checked(try CheckedChange(.patch(patch), asOf: .now)))
        }
    }

    func deleteNotification(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let removal = CheckedChange.remove(
            id: try request.required(request.id).text, device: request.device,
            condition: request.condition)
        return .write(.apply(removal), .removed("notification"))
    }

    func postBatch(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        // Its answer has a line for each document, and must not be refused at the end.
        try requireAnswerMemory()
        return .receiveBody(BodyPlan(document: .batch, request))
    }

    func postResponse(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let id = try request.required(request.id)
        let scope = request.scope
        return try receive(request, .responded) { (reader, bytes, plan) throws(ProtocolError) in
            var response = try ResponseDocument.parse(bytes, id: id)
            response.scope = scope
            response.device = plan.device?.text
            return .apply(try reader.checked(try CheckedChange(.respond(response), asOf: .now)))
        }
    }

    func getCategories(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let after = request.query["after"] ?? []
        let page = try asked(
            try snapshot.categories(after: after.span.bytes, byteCountMax: pageByteCountMax))
        return .respond(.document { PageDocument.append(page, to: &$0) })
    }

    func getCategory(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let app = try request.query.app()
        let name = try request.required(request.category)
        return try respond(
            to: request, with: try asked(try snapshot.category(name.text, app: app?.text)))
    }

    func getCategoryOfNotification(
        _ request: EndpointRequest, in snapshot: borrowing Snapshot
    ) throws(ProtocolError) -> ActionStep {
        let id = try request.required(request.id)
        let record = try record(id.text.utf8.span.bytes, for: request, in: snapshot)
        return try respond(to: request, with: try asked(try snapshot.category(of: record)))
    }

    private func respond(
        to request: EndpointRequest, with category: Category?
    ) throws(ProtocolError) -> ActionStep {
        guard let category else { throw .notFound("category") }
        try asked(try request.condition.check(category: category))
        return .respond(.category(category))
    }

    func putCategory(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let app = try request.query.app()
        let name = try request.required(request.category)
        return try receive(request, .nothing) { (reader, bytes, plan) throws(ProtocolError) in
            let category = try CategoryDocument.parse(bytes, name: name, app: app)
            let change = Change.setCategory(category, condition: plan.condition)
            return .apply(try reader.checked(try CheckedChange(change, asOf: .now)))
        }
    }

    func deleteCategory(_ request: EndpointRequest) throws(ProtocolError) -> ActionStep {
        let app = try request.query.app()
        let removal = CheckedChange.removeCategory(
            name: try request.required(request.category).text, app: app?.text,
            condition: request.condition)
        return .write(.apply(removal), .removed("category"))
    }

    /// Receives a JSON document, which `read` turns into a change. A body without a media type counts as JSON.
    func receive(
        _ request: EndpointRequest, _ reply: Reply, _ read: @escaping BodyPlan.Reading
    ) throws(ProtocolError) -> ActionStep {
        if let type = request.mediaType {
            let isPatch = request.endpoint.body == .patch
            let isJSON = type.isType("application/json")
            let isMergePatch = isPatch && type.isType("application/merge-patch+json")
            try require(
                isJSON || isMergePatch, .unsupportedMediaType,
                "the media type \(type.excerpt) is not supported; use application/json"
                    + (isPatch ? " or application/merge-patch+json" : ""))
        }
        return .receiveBody(BodyPlan(document: .document(reply, read), request))
    }
}
