import BlobProtocol
import BlobStore
import Synchronization

// What the publishers do: whatever may take long between a body's last byte and the writer.

/// Work for a publisher.
protocol PublisherJob: AnyObject, Sendable {
    /// Does it and hands the outcome to the writer, or back to the connection. Runs once.
    func run(_ writer: WriterThread)
}

/// A payload that is to be finished on another thread than its connection's.
final class PayloadJob: PublisherJob {
    private let use: PayloadUse
    private let payload: Mutex<PayloadWriter?>
    private let connection: ConnectionAddress
    private let reservation: BodyReservation?

    init(
        _ use: PayloadUse, _ payload: consuming sending PayloadWriter,
        connection: ConnectionAddress, reservation: BodyReservation?
    ) {
        self.use = use
        self.payload = Mutex(payload)
        self.connection = connection
        self.reservation = reservation
    }

    func run(_ writer: WriterThread) {
        guard let payload = payload.withLock({ $0.take() }) else { return }
        writer.submit(use, payload, for: connection, reservation)
    }
}

/// A body that is to be read, and its files finished, on another thread than its connection's.
final class BodyJob: PublisherJob {
    /// What there is to read.
    enum Body: Sendable {
        case batch(IncomingDocument)
        case multipart(MultipartReceiver.Received)
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

    func run(_ writer: WriterThread) {
        do throws(BodyFailure) {
            writer.submit(
                PendingChange(
                    operation: try operation(), connection: connection, reservation: reservation))
        } catch {
            switch error {
            case .wire(let error): connection.post(.changed(.refused(error)))
            case .store(let error): connection.post(.changed(.failed(error)))
            }
        }
    }

    private func operation() throws(BodyFailure) -> PendingChange.Operation {
        switch body {
        case .batch(let document):
            let bytes: [UInt8]
            do throws(StoreError) {
                bytes = try document.finish() ?? []
            } catch {
                throw .store(error)
            }
            do throws(ProtocolError) {
                return try reader.batch(bytes, plan)
            } catch {
                throw .wire(error)
            }
        case .multipart(let received): return try reader.notification(received, plan)
        }
    }
}
