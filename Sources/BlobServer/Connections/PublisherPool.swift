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

    /// The queue needs no limit: each connection has at most one job, and its memory is reserved.
    func submit(_ job: BodyJob) {
        jobs.withLock { $0.append(job) }
        threads.wake()
    }

    func close() { threads.close() }

    private func run(_ writer: WriterThread) {
        while true {
            // Read first, so that jobs queued before the end are finished.
            let isClosing = threads.isClosing
            let (job, hasMore) = jobs.withLock { jobs in
                (jobs.isEmpty ? nil : jobs.removeFirst(), !jobs.isEmpty)
            }
            // One signal wakes one thread, which wakes the next while there is work, and all of them at the end.
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

/// The work on a body between its last byte and the writer, done by a publisher or by its worker.
struct BodyJob: Sendable {
    /// Longer payloads, which may take long to compress, go to a publisher. A body in memory that is not compressed
    /// stays with the worker: finishing it takes less time than waking a thread.
    private static let inlineFinishByteCountMax = 4 << 10

    let isShort: Bool
    private let content: BodyContent
    private let plan: BodyPlan
    private let reader: BodyReader
    private let connection: ConnectionAddress
    private let reservation: BodyReservation?

    /// Takes over the upload and its memory. Throws if the upload as a whole is invalid.
    init(
        _ upload: Upload, _ reader: BodyReader, for connection: ConnectionAddress
    ) throws(ProtocolError) {
        plan = upload.plan
        self.reader = reader
        content = upload.content
        switch plan.kind {
        case .payload(let use):
            // The length of a chunked body is known now. The length inside a coding is only known, and checked, as it
            // is decoded: a few coded bytes may become many.
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
        self.connection = connection
        reservation = upload.reservation.take()
        upload.content = BodyContent()
    }

    /// Runs the job, once. Submits the outcome to the writer, or posts a failure to the connection.
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

    /// - Parameter submit: takes the change of a body; of a batch, piece by piece.
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
