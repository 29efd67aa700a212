import BlobProtocol
import BlobStore
import Notifications

/// Turns bodies into changes. Every error in a body is found here or in the change's transaction.
struct BodyReader: Sendable {
    private let lifetimes: LifetimeRules
    private let profile: DeviceProfile?

    init(_ limits: DaemonLimits) {
        lifetimes = LifetimeRules(limits)
        profile = limits.profile
    }

    func operation(
        _ bytes: [UInt8], _ plan: BodyPlan
    ) throws(ProtocolError) -> PendingChange.Operation {
        guard case .document(_, let read) = plan.kind else {
            throw ProtocolError(.internalError, "the body is not a document")
        }
        return try read(self, bytes.span.bytes, plan)
    }

    /// A checked change, or the error for the client if it cannot be made.
    func checked<Checked>(
        _ change: @autoclosure () throws(StoreError) -> Checked
    ) throws(ProtocolError) -> Checked {
        do throws(StoreError) {
            return try change()
        } catch {
            throw ProtocolError(error)
        }
    }

    func patch(_ bytes: RawSpan, _ plan: BodyPlan) throws(ProtocolError) -> NotificationPatch {
        var patch = try PatchDocument.parse(bytes)
        if case .set(let moment) = patch.expiresAt {
            _ = try lifetimes.expiry(milliseconds: moment.milliseconds, asOf: .now)
        }
        patch.device = plan.device?.text
        return patch
    }

    func publication(
        _ bytes: RawSpan, id: NotificationID?, _ plan: BodyPlan
    ) throws(ProtocolError) -> (id: NotificationID?, change: CheckedChange) {
        let document = try NotificationDocument(parsing: bytes, id: id, lifetimes)
        let expiry = try expiry(document)
        let parts = try document.parts([], for: document.profile ?? profile)
        return (document.id, try change(document, expiry, plan, parts))
    }

    private func change(
        _ document: NotificationDocument, _ expiry: Expiry, _ plan: BodyPlan,
        _ parts: [DraftPart] = []
    ) throws(ProtocolError) -> CheckedChange {
        var draft = document.draft
        draft.id = document.id?.text
        draft.expiry = expiry
        draft.parts = parts
        draft.device = plan.device?.text
        draft.condition = plan.condition
        return try checked(try CheckedChange(.publishNotification(draft), asOf: .now))
    }

    private func expiry(_ document: NotificationDocument) throws(ProtocolError) -> Expiry {
        try lifetimes.chosen(
            document.lifetime, asOf: .now) ?? .after(seconds: lifetimes.usualSeconds)
    }

    func notification(
        _ received: BodyContent, _ plan: BodyPlan
    ) throws(BodyFailure) -> PendingChange.Operation {
        guard case .multipart(let id, _) = plan.kind else {
            throw .wire(ProtocolError(.internalError, "the body is not multipart"))
        }
        let document: NotificationDocument
        let change: CheckedChange
        do throws(ProtocolError) {
            let bytes = try require(
                received.multipart?.document, .badMultipart,
                "the field notification is missing; it contains the document")
            document = try NotificationDocument(parsing: bytes.span.bytes, id: id, lifetimes)
            // Refuses what it can before the files are compressed.
            try document.checkFiles(
                received.items.map(\.name),
                fieldLikeMember: received.multipart?.fieldLikeMember)
            try checkAttachments(received.items, of: document)
            change = try self.change(document, try expiry(document), plan)
        } catch {
            throw .wire(error)
        }
        var files: [ReceivedFile] = []
        for file in received.items {
            let mediaType = document.mediaType(ofFile: file.name, saying: file.mediaType)
            guard let payload = try onStore(try file.finish(as: mediaType)) else { continue }
            files.append(ReceivedFile(name: file.name, mediaType: mediaType, payload: payload))
        }
        let parts = try onWire(try document.parts(files, for: document.profile ?? profile))
        return .apply(try onWire(try checked(try change.with(parts))))
    }

    private func checkAttachments(
        _ files: [IncomingBytes], of document: NotificationDocument
    ) throws(ProtocolError) {
        guard let profile = document.profile ?? profile else { return }
        for file in files {
            let mediaType = document.mediaType(ofFile: file.name, saying: file.mediaType)
            try profile.check(
                byteCount: UInt64(file.counts.all), part: file.name.text, mediaType: mediaType.text)
        }
    }

    /// Lines of a batch that are handed to the writer together while the next ones are read.
    private static let pieceLineCount = 250

    /// Submits the documents of a batch, each as a change or an error, in pieces: the writer applies the first piece
    /// while the next is read. Throws before the first piece if there are too many.
    func batch(
        _ bytes: [UInt8], _ plan: BodyPlan, _ submit: (PendingChange.Operation) -> Void
    ) throws(ProtocolError) {
        let slices = try BatchLines.split(bytes.span.bytes)
        let size = Self.pieceLineCount
        let results = BatchResults(pieceCount: max(1, (slices.count + size - 1) / size))
        var start = 0
        repeat {
            let piece = slices[start..<min(start + size, slices.count)]
            var (changes, lines): ([CheckedChange], [BatchLine]) = ([], [])
            changes.reserveCapacity(piece.count)
            lines.reserveCapacity(piece.count)
            for slice in piece {
                do throws(ProtocolError) {
                    let (id, change) = try publication(slice.of(bytes.span.bytes), id: nil, plan)
                    changes.append(change)
                    lines.append(BatchLine(id: id?.text))
                } catch {
                    lines.append(BatchLine(refused: error))
                }
            }
            submit(.applyAll(changes, lines, results))
            start += size
        } while start < slices.count
    }
}
