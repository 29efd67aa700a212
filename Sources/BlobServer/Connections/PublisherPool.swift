import BlobProtocol
import BlobStore
import Synchronization

/// Threads that finish long bodies, so that no worker waits for a compression.
final class PublisherPool: Sendable {
    static let threadCount = 2

    private let jobs = Mutex<[BodyJob]>([])
    private let threads: ServiceThread

    init() throws(SystemError) { threads = try ServiceThread() }

    func start(_ writer: WriterThread) throws(SystemError) {
        for index in 0..<Self.threadCount {
            try threads.start("blobd-pub-\(index)") { [self] in run(writer) }
        }
    }

    /// The queue needs no limit: there is at most one job for each connection, and its memory is reserved.
    func submit(_ job: BodyJob) {
        jobs.withLock { $0.append(job) }
        threads.wake()
    }

    func close() { threads.close() }

    private func run(_ writer: WriterThread) {
        while true {
            // Read first: what was queued before the end is finished.
            let isClosing = threads.isClosing
            let (job, hasMore) = jobs.withLock { jobs in
                (jobs.isEmpty ? nil : jobs.removeFirst(), !jobs.isEmpty)
            }
            // One signal wakes one thread. It is passed on while there is work, and at the end to all.
            if hasMore || isClosing { threads.wake() }
            if let job {
                job.run(writer)
            } else if isClosing {
                return
            } else {
                threads.wait(milliseconds: -1)
            }
        }
    }
}

/// What is done with a body between its last byte and the writer, on a publisher's thread or its worker's.
final class BodyJob: Sendable {
    /// Longer payloads, which may take long to compress, are finished elsewhere. What is in memory and not compressed
    /// is finished on the worker: that takes less than waking another thread.
    private static let inlineFinishByteCountMax = 4 << 10

    let isShort: Bool
    private let content: BodyContent
    private let plan: BodyPlan
    private let reader: BodyReader
    private let connection: ConnectionAddress
    private let reservation: BodyReservation?

    /// Takes over what was received, and its memory. Throws what is wrong with it as a whole.
    init(
        _ upload: Upload, _ limits: DaemonLimits, for connection: ConnectionAddress
    ) throws(ProtocolError) {
        plan = upload.plan
        content = upload.content
        switch plan.kind {
        case .payload(let use):
            // The length of a chunked body is known now. The length inside a coding is known when
            // it is decoded, and checked then: a few coded bytes may become many.
            let isPlain = plan.coding == .identity
            if isPlain { try use.check(byteCount: UInt64(upload.byteCount)) }
            isShort =
                (isPlain && upload.byteCount <= Self.inlineFinishByteCountMax)
                || content.items.contains { $0.finishesAtOnce(as: use.mediaType) }
        case .document: isShort = true
        case .multipart:
            try content.multipart?.checkEnd()
            isShort = false
        case .batch: isShort = false
        }
        reader = BodyReader(limits)
        self.connection = connection
        reservation = upload.reservation.take()
        upload.content = BodyContent()
    }

    /// Does it. Submits the outcome to the writer, or posts a failure to the connection. Runs once.
    func run(_ writer: WriterThread) {
        do throws(BodyFailure) {
            try finish { operation in
                writer.submit(
                    PendingChange(
                        operation: operation, connection: connection, reservation: reservation))
            }
        } catch {
            switch error {
            case .wire(let error): connection.post(.changed(.refused(error)))
            case .store(let error): connection.post(.changed(.failed(error)))
            }
        }
    }

    /// - Parameter submit: takes what the body asks for; of a batch, piece by piece.
    private func finish(
        _ submit: (PendingChange.Operation) -> Void
    ) throws(BodyFailure) {
        switch plan.kind {
        case .payload(let use):
            guard let payload = try onStore(try content.items.first?.finish(as: use.mediaType))
            else { return }
            submit(.apply(try onStore(try use.change(of: payload))))
        case .document:
            let bytes = try document()
            submit(try onWire(try reader.operation(bytes, plan)))
        case .batch:
            let bytes = try document()
            try onWire(try reader.batch(bytes, plan, submit))
        case .multipart: submit(try reader.notification(content, plan))
        }
    }

    private func document() throws(BodyFailure) -> [UInt8] {
        try onStore(try content.items.first?.finishDocument()) ?? []
    }
}
