import BlobProtocol
import BlobStore
import Synchronization

// What is done with a body between its last byte and the writer.

/// Work for a publisher or, if it is short, for the worker itself.
protocol PublisherJob: AnyObject, Sendable {
    /// Whether it takes no longer than a short request.
    var isShort: Bool { get }

    /// Does it. Submits the outcome to the writer, or posts a failure to the connection. Runs once.
    func run(_ writer: WriterThread)
}

/// Finishes a payload, which may mean to compress it.
final class PayloadJob: PublisherJob {
    let isShort: Bool
    private let use: PayloadUse
    private let payload: Mutex<PayloadWriter?>
    private let connection: ConnectionAddress
    private let reservation: BodyReservation?

    init(
        _ use: PayloadUse, _ payload: consuming sending PayloadWriter, isShort: Bool,
        connection: ConnectionAddress, reservation: BodyReservation?
    ) {
        self.use = use
        self.payload = Mutex(payload)
        self.isShort = isShort
        self.connection = connection
        self.reservation = reservation
    }

    func run(_ writer: WriterThread) {
        guard let payload = payload.withLock({ $0.take() }) else { return }
        do throws(StoreError) {
            let payload = try payload.finish(as: use.mediaType)
            writer.submit(
                PendingChange(
                    operation: .apply(try use.change(of: payload)), connection: connection,
                    reservation: reservation))
        } catch {
            connection.post(.changed(.failed(error)))
        }
    }
}

/// Reads the body of a resource, and finishes its files.
final class BodyJob: PublisherJob {
    /// What there is to read.
    enum Body: Sendable {
        case document(IncomingDocument)
        case batch(IncomingDocument)
        case multipart(MultipartReceiver.Received)

        /// What was received; nil when it was taken before. Throws `bad_multipart` for a multipart body
        /// without its end.
        init?(_ upload: Upload) throws(ProtocolError) {
            if case .multipart = upload.plan.kind {
                guard let receiver = upload.takeMultipart() else { return nil }
                self = .multipart(try receiver.finish())
                return
            }
            guard let writer = upload.takeDocument() else { return nil }
            let document = IncomingDocument(writer)
            if case .batch = upload.plan.kind {
                self = .batch(document)
            } else {
                self = .document(document)
            }
        }
    }

    private let body: Body
    private let reader: BodyReader
    private let plan: BodyPlan
    private let connection: ConnectionAddress
    private let reservation: BodyReservation?

    init(
        _ body: Body, _ plan: BodyPlan, _ reader: BodyReader, connection: ConnectionAddress,
        reservation: BodyReservation?
    ) {
        self.body = body
        self.plan = plan
        self.reader = reader
        self.connection = connection
        self.reservation = reservation
    }

    var isShort: Bool {
        if case .document = body { return true }
        return false
    }

    func run(_ writer: WriterThread) {
        do throws(BodyFailure) {
            try read { operation in
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

    /// Reads the body.
    ///
    /// - Parameter submit: takes what it asks for; of a batch, piece by piece.
    private func read(_ submit: (PendingChange.Operation) -> Void) throws(BodyFailure) {
        switch body {
        case .document(let document):
            let bytes = try bytes(document)
            try onWire { () throws(ProtocolError) in submit(try reader.operation(bytes, plan)) }
        case .batch(let document):
            let bytes = try bytes(document)
            try onWire { () throws(ProtocolError) in try reader.batch(bytes, plan, submit) }
        case .multipart(let received): submit(try reader.notification(received, plan))
        }
    }

    private func onWire(_ body: () throws(ProtocolError) -> Void) throws(BodyFailure) {
        do throws(ProtocolError) {
            try body()
        } catch {
            throw .wire(error)
        }
    }

    private func bytes(_ document: IncomingDocument) throws(BodyFailure) -> [UInt8] {
        do throws(StoreError) {
            return try document.finish() ?? []
        } catch {
            throw .store(error)
        }
    }
}
