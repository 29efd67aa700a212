import BlobStore
import Synchronization

/// What came of a change that a connection asked for.
enum ChangeResult: Sendable {
    case published(Record, created: Bool)
    case deleted
    case notFound
    case changed(Record)
    case unchanged(Record)
    case held(HeldBlob, created: Bool)
    case categorySet(Category, created: Bool)
    /// The results of several changes, in their order.
    case many([ChangeResult])
    case long(LongChange)
    /// The store can commit.
    case writable
    case failed(StoreError)
}

/// A change on its way to the writer, and who waits for it.
struct PendingChange: Sendable {
    /// What to do.
    enum Operation: Sendable {
        case apply(Change)
        case applyAll([Change])
        case long(LongChange)
        /// Find out whether the store can commit.
        case checkWritable
    }

    let operation: Operation
    let connection: ConnectionAddress
    /// The memory the prepared payload may use; given back when the change is committed.
    let reservation: BodyReservation?
}

/// Everything a publish says but its bytes.
struct PublicationDraft: Sendable {
    /// Nil: the store chooses the next number.
    var id: String?
    var part: String
    var mediaType: String
    var owner: String?
    var message: String?
    var richType: String?
    var lifetime: Lifetime

    /// How long it shall live.
    enum Lifetime: Sendable {
        /// So many seconds from the moment its bytes are complete.
        case seconds(Int64)
        case until(Timestamp)
        /// As long as the notification that is there; else so many seconds.
        case keep(otherwiseSeconds: Int64)
    }

    /// The publication of a prepared payload.
    func publication(of payload: PreparedPayload, asOf now: Timestamp) -> Publication {
        let expiry: Expiry =
            switch lifetime {
            case .seconds(let seconds): .at(now.adding(seconds: seconds))
            case .until(let time): .at(time)
            case .keep(let seconds): .keep(otherwise: now.adding(seconds: seconds))
            }
        return Publication(
            id: id, part: part, payload: payload, owner: owner,
            message: message, richType: richType, expiry: expiry)
    }
}

extension WriterThread {
    /// Finishes a payload that is complete, which may mean compressing it, and puts it in line; a
    /// failure goes back to the connection.
    func publish(
        _ draft: PublicationDraft, _ payload: consuming PayloadWriter,
        for connection: ConnectionAddress, _ reservation: BodyReservation?
    ) {
        do throws(StoreError) {
            let payload = try payload.finish(mediaType: draft.mediaType)
            submit(
                PendingChange(
                    operation: .apply(.publish(draft.publication(of: payload, asOf: .now))),
                    connection: connection, reservation: reservation))
        } catch {
            connection.post(.changed(.failed(error)))
        }
    }
}

/// A payload that is to be finished on another thread than its connection's.
final class PublishJob: Sendable {
    private let draft: PublicationDraft
    private let writer: Mutex<PayloadWriter?>
    private let connection: ConnectionAddress
    private let reservation: BodyReservation?

    init(
        _ draft: PublicationDraft, writer: consuming sending PayloadWriter,
        connection: ConnectionAddress, reservation: BodyReservation?
    ) {
        self.draft = draft
        self.writer = Mutex(writer)
        self.connection = connection
        self.reservation = reservation
    }

    /// Finishes the payload and hands it to the writer. Runs once.
    func run(_ writerThread: WriterThread) {
        guard let writer = writer.withLock({ $0.take() }) else { return }
        writerThread.publish(draft, writer, for: connection, reservation)
    }
}
