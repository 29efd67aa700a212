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

    private struct State {
        var piece: Piece?
        var isCancelled = false
    }

    private let state = Mutex(State())
    private let signal: WakeSignal
    private let connection: ConnectionAddress

    init(for connection: ConnectionAddress) throws(SystemError) {
        self.connection = connection
        signal = try WakeSignal()
    }

    /// The next piece; nil: it is not ready, and a message comes when it is.
    func take() -> Piece? {
        let piece = state.withLock { $0.piece.take() }
        if piece != nil { signal.notify() }
        return piece
    }

    /// Ends the backup at its next piece.
    func cancel() {
        state.withLock { $0.isCancelled = true }
        signal.notify()
    }

    /// Hands a piece on, and waits until it is taken.
    func offer(_ piece: Piece) throws(Cancelled) {
        state.withLock { $0.piece = piece }
        connection.post(.backupReady)
        while true {
            let (isTaken, isCancelled) = state.withLock { ($0.piece == nil, $0.isCancelled) }
            if isCancelled { throw Cancelled() }
            if isTaken { return }
            signal.wait(milliseconds: -1)
        }
    }
}

/// The threads that take backups, one for each, at most ``BackupThreads/countMax``: a client that does not read
/// holds up nobody else's.
final class BackupThreads: Sendable {
    /// Backups that are taken at once.
    static let countMax = 4

    private struct Run {
        let stream: BackupStream
        let thread: WorkerThread
        let ending: Ending
    }

    /// Set by the thread when it ends.
    private final class Ending: Sendable {
        let isOver = Atomic(false)
    }

    private let store: BlobStore
    /// Makes what gives a backup the payloads that are not here; nil: nothing does.
    private let makeSource: (@Sendable () -> LongBlobSource)?
    private let log: Logger
    private let runs = Mutex<[Run]>([])

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
            runs.removeAll { run in
                guard run.ending.isOver.load(ordering: .acquiring) else { return false }
                run.thread.join()
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
                let ending = Ending()
                let thread = try WorkerThread(name: "blobd-backup") { [self] in
                    run(stream)
                    ending.isOver.store(true, ordering: .releasing)
                }
                runs.append(Run(stream: stream, thread: thread, ending: ending))
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
        for run in runs {
            run.stream.cancel()
            run.thread.join()
        }
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
