import BlobProtocol
import BlobStore
import Bytes
import Logging
import Synchronization

/// A backup that a connection sends, as its worker knows it.
final class BackupAnswer {
    let form: HTTPForm
    let entry: RequestEntry
    /// Where it comes from; nil: it is not begun.
    var stream: BackupStream?
    /// Whether there may be something to send.
    var isDue = true
    /// Whether the head is sent.
    var isBegun = false

    init(_ form: HTTPForm, _ entry: RequestEntry) {
        self.form = form
        self.entry = entry
    }
}

/// A backup on its way from the thread that takes it to the worker that sends it, one piece at a time:
/// the thread waits until the piece is taken.
final class BackupStream: Sendable {
    /// What comes next.
    enum Piece: Sendable {
        case bytes([UInt8])
        case end
        case failed(StoreError)
    }

    /// Nobody takes the backup any more.
    struct Cancelled: Error {}

    private let piece = Mutex<Piece?>(nil)
    /// What takes the backup.
    fileprivate let thread: ServiceThread
    private let connection: ConnectionAddress

    init(for connection: ConnectionAddress) throws(SystemError) {
        self.connection = connection
        thread = try ServiceThread()
    }

    /// The next piece; nil: it is not ready, and a message comes when it is.
    func take() -> Piece? {
        let piece = piece.withLock { $0.take() }
        if piece != nil { thread.wake() }
        return piece
    }

    /// Ends the backup at its next piece.
    func cancel() { thread.stop() }

    /// Hands a piece on, and waits until it is taken.
    func offer(_ piece: Piece) throws(Cancelled) {
        self.piece.withLock { $0 = piece }
        connection.post(.backupReady)
        while true {
            if thread.isClosing { throw Cancelled() }
            if self.piece.withLock({ $0 == nil }) { return }
            thread.wait(milliseconds: -1)
        }
    }
}

/// The threads that take backups, one for each, at most ``BackupThreads/countMax``: a client that does not read
/// holds up nobody else's.
final class BackupThreads: Sendable {
    /// Backups that are taken at once.
    static let countMax = 4

    private let store: BlobStore
    /// Makes what gives a backup the payloads that are not here; nil: nothing does.
    private let makeSource: (@Sendable () -> LongBlobSource)?
    private let log: Logger
    private let runs = Mutex<[BackupStream]>([])

    init(
        _ store: BlobStore, makeSource: (@Sendable () -> LongBlobSource)?, log: Logger
    ) {
        self.store = store
        self.makeSource = makeSource
        self.log = log
    }

    /// Begins a backup. Throws `unavailable` while as many are taken as may be.
    func start(for connection: ConnectionAddress) throws(ProtocolError) -> BackupStream {
        let started = runs.withLock { runs -> Result<BackupStream, ProtocolError> in
            runs.removeAll { stream in
                guard !stream.thread.isRunning else { return false }
                stream.thread.join()
                return true
            }
            guard runs.count < Self.countMax else {
                return .failure(
                    ProtocolError(
                        .unavailable,
                        "\(runs.count) backups are being taken; that is the limit"))
            }
            do throws(SystemError) {
                let stream = try BackupStream(for: connection)
                try stream.thread.start("blobd-backup") { [self] in run(stream) }
                runs.append(stream)
                return .success(stream)
            } catch {
                return .failure(ProtocolError(.unavailable, "cannot take a backup: \(error)"))
            }
        }
        return try started.get()
    }

    /// Ends the backups that are being taken, and waits for that.
    func close() {
        let runs = runs.withLock { runs in
            defer { runs = [] }
            return runs
        }
        for stream in runs { stream.thread.close() }
    }

    private func run(_ stream: BackupStream) {
        let begin = Instant.now
        do {
            var byteCount = 0
            try store.backUp(
                asOf: .now, missing: makeSource?(),
                progress: { sum, _ in byteCount = sum },
                to: { bytes in try stream.offer(.bytes(bytes.array())) })
            try stream.offer(.end)
            log.notice(
                "Took a backup of \(byteCount) bytes in \(Instant.now.milliseconds(since: begin)) ms"
            )
        } catch let error as StoreError {
            log.error("Cannot take a backup: \(error)")
            try? stream.offer(.failed(error))
        } catch {
            log.warning("A backup was not taken to its end: its client has gone")
        }
    }
}
