import BlobProtocol
import BlobStore

/// Turns the bodies that resources take into changes. Everything wrong with them is found here or in
/// the change's transaction, before anything is written.
struct BodyReader: Sendable {
    private let lifetimes: LifetimeRules
    private let profile: DeviceProfile?

    init(_ limits: DaemonLimits) {
        lifetimes = LifetimeRules(limits)
        profile = limits.profile
    }

    /// The change that a document asks for. What the store would refuse it for whatever is stored is
    /// thrown here.
    func operation(
        _ bytes: [UInt8], _ plan: BodyPlan
    ) throws(ProtocolError) -> PendingChange.Operation {
        let text = bytes.span.bytes
        switch plan.kind {
        case .notification(let id):
            return .apply(try publication(text, id: id, plan).change)
        case .patch(let id):
            return .apply(try CheckedChange(checking: .patch(try patch(text, id: id, plan))))
        case .groupPatch(let owner, let group, let app):
            let patch = try patch(text, id: "", plan)
            return .long(
                try CheckedLongChange(
                    checking: .patchGroup(owner: owner, group: group, app: app, patch)))
        case .response(let id):
            let response = try ResponseDocument.parse(text, id: id, device: plan.device)
            return .apply(try CheckedChange(checking: .respond(response)))
        case .category(let name, let app):
            let category = try CategoryDocument.parse(text, name: name, app: app)
            return .apply(
                try CheckedChange(checking: .setCategory(category, condition: plan.condition)))
        case .payload, .multipart, .batch, .heldBlob:
            throw ProtocolError(.internalError, "the body is not a document")
        }
    }

    private func patch(
        _ bytes: RawSpan, id: String, _ plan: BodyPlan
    ) throws(ProtocolError) -> NotificationPatch {
        let patch = try PatchDocument.parse(
            bytes, id: id, device: plan.device, condition: plan.condition)
        if case .set(let moment) = patch.expiresAt {
            _ = try lifetimes.expiry(milliseconds: moment.milliseconds, asOf: .now)
        }
        return patch
    }

    /// A document that comes without files.
    private func publication(
        _ bytes: RawSpan, id: String?, _ plan: BodyPlan
    ) throws(ProtocolError) -> (id: String?, change: CheckedChange) {
        let document = try NotificationDocument(parsing: bytes, id: id)
        var draft = try draft(document, plan)
        draft.parts = try document.draftParts([], for: document.profile ?? profile)
        return (document.id, try CheckedChange(checking: .publishNotification(draft)))
    }

    private func draft(
        _ document: NotificationDocument, _ plan: BodyPlan
    ) throws(ProtocolError) -> NotificationDraft {
        let chosen = try lifetimes.chosen(
            ttlSeconds: document.ttlSeconds, expiryMilliseconds: document.expiryMilliseconds,
            asOf: .now)
        return document.draft(
            chosen ?? .after(seconds: lifetimes.usualSeconds), device: plan.device,
            condition: plan.condition)
    }

    // MARK: - Files

    /// A notification with its files, which are finished here.
    func notification(
        _ received: MultipartReceiver.Received, _ plan: BodyPlan
    ) throws(BodyFailure) -> PendingChange.Operation {
        guard case .multipart(let id, _) = plan.kind else {
            throw .wire(ProtocolError(.internalError, "the body is not multipart"))
        }
        let document: NotificationDocument
        let change: CheckedChange
        do throws(ProtocolError) {
            guard let bytes = received.document else {
                throw ProtocolError(.badMultipart, "the field notification is missing")
            }
            document = try NotificationDocument(parsing: bytes.span.bytes, id: id)
            // What can be refused is refused before the files are compressed.
            try document.checkFiles(received.files.map(\.name))
            try checkSizes(received.files, of: document)
            change = try CheckedChange(
                checking: .publishNotification(try draft(document, plan)))
        } catch {
            throw .wire(error)
        }
        var files: [ReceivedFile] = []
        for file in received.files {
            let mediaType = document.mediaType(ofFile: file.name, saying: file.mediaType)
            do throws(StoreError) {
                guard let payload = try file.finish(mediaType: mediaType) else { continue }
                files.append(
                    ReceivedFile(name: file.name, mediaType: mediaType, payload: payload))
            } catch {
                throw .store(error)
            }
        }
        let parts: [DraftPart]
        do throws(ProtocolError) {
            parts = try document.draftParts(files, for: document.profile ?? profile)
        } catch {
            throw .wire(error)
        }
        do throws(StoreError) {
            return .apply(try change.with(parts))
        } catch {
            throw .store(error)
        }
    }

    /// Throws `attachment_too_large` for a file that the profile's devices do not take.
    private func checkSizes(
        _ files: [IncomingFile], of document: NotificationDocument
    ) throws(ProtocolError) {
        guard let profile = document.profile ?? profile else { return }
        for file in files {
            let mediaType = document.mediaType(ofFile: file.name, saying: file.mediaType)
            try profile.check(
                byteCount: UInt64(file.byteCount), mediaType: mediaType.utf8.span.bytes)
        }
    }

    // MARK: - Batches

    /// The documents of a batch, each a change or what is wrong with it. Throws when there are too
    /// many.
    func batch(_ bytes: [UInt8], _ plan: BodyPlan) throws(ProtocolError) -> PendingChange.Operation
    {
        var lines: [BatchLine] = []
        for slice in try BatchLines.split(bytes.span.bytes) {
            lines.append(line(slice.of(bytes.span.bytes), plan))
        }
        return .applyAll(lines)
    }

    private func line(_ bytes: RawSpan, _ plan: BodyPlan) -> BatchLine {
        do throws(ProtocolError) {
            let (id, change) = try publication(bytes, id: nil, plan)
            return BatchLine(id: id, content: .change(change))
        } catch {
            return BatchLine(content: .refused(error))
        }
    }
}
