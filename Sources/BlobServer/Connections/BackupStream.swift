import BlobProtocol
import BlobStore
import Bytes
import Logging
import Synchronization

final class BackupAnswer {
    let head: HTTPForm
    let form: PendingReply.Form
    /// nil until the backup has begun.
    var stream: BackupStream?
    var isDue = true
    var isBegun = false

    init(_ head: HTTPForm, _ form: PendingReply.Form) {
        self.head = head
        self.form = form
    }
}

/// Carries a backup, one piece at a time, from the thread that takes it to the worker that sends it.
final class BackupStream: Sendable {
    enum Piece: Sendable {
        case bytes([UInt8])
        case end
        case failed(StoreError)
    }

    struct Cancelled: Error {}

    private let piece = Mutex<Piece?>(nil)
    fileprivate let thread: ServiceThread
    private let connection: ConnectionAddress

    init(for connection: ConnectionAddress) throws(SystemError) {
        self.connection = connection
        thread = try ServiceThread()
    }

    /// The next piece; nil if it is not ready, in which case a message is posted when it is.
    func take() -> Piece? {
        let piece = piece.withLock { $0.take() }
        if piece != nil { thread.wake() }
        return piece
    }

    func cancel() { thread.stop() }

    /// Hands over a piece and waits until it is taken.
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

/// The threads that take backups. Each backup has its own, so a client that does not read delays only itself.
final class BackupThreads: Sendable {
    static let countMax = 4

    private let context: DaemonContext
    /// Makes the source of payloads that are not stored locally; nil if all of them are.
    private let makeSource: (@Sendable () -> LongBlobSource)?
    private let runs = Mutex<[BackupStream]>([])

    init(_ context: DaemonContext, makeSource: (@Sendable () -> LongBlobSource)?) {
        self.context = context
        self.makeSource = makeSource
    }

    /// Begins a backup. Throws `unavailable` while ``countMax`` backups are running.
    func start(for connection: ConnectionAddress) throws(ProtocolError) -> BackupStream {
        try runs.withLock { (runs) throws(ProtocolError) -> BackupStream in
            runs.removeAll { stream in
                guard !stream.thread.isRunning else { return false }
                stream.thread.join()
                return true
            }
            try require(
                runs.count < Self.countMax, .unavailable,
                "\(runs.count) backups are being taken; that is the limit")
            do throws(SystemError) {
                let stream = try BackupStream(for: connection)
                try stream.thread.start("blobd-backup") { [self] in run(stream) }
                runs.append(stream)
                return stream
            } catch {
                throw ProtocolError(.unavailable, "cannot take a backup: \(error)")
            }
        }
    }

    func close() {
        let runs = runs.withLock { runs in
            defer { runs = [] }
            return runs
        }
        for stream in runs { stream.thread.close() }
    }

    private func run(_ stream: BackupStream) {
        let begin = Instant.now
        let log = context.log
        do {
            var byteCount = 0
            try context.store.backUp(
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
            log.warning("Backup aborted: the client disconnected")
        }
    }
}

// A piece of a backup is sent once the previous one has left: a slow client holds one in memory, and no snapshot.

extension Worker {
    func continueBackup(
        _ backup: BackupAnswer, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        guard connection.output.isEmpty, !connection.state.isBroken else { return }
        backup.isDue = false
        do throws(ProtocolError) {
            guard !isStopping else { throw .stopping }
            guard let stream = backup.stream else {
                backup.stream = try environment.backups.start(for: connection.address)
                return
            }
            guard let piece = stream.take() else { return }
            switch piece {
            case .bytes(let bytes): send(bytes, of: backup, connection, &batch)
            case .end:
                guard !backup.head.isHTTP10 else {
                    return connection.state.endRequest(isLast: true)
                }
                endRequest(backup.form, connection, &batch) {
                    handler.http.appendBackup([], backup.head, into: &$0)
                }
            case .failed(let error): throw handler.problem(error)
            }
        } catch {
            // Once the head is sent, the only way to report an error is to cut the answer off.
            guard !backup.isBegun else { return connection.state.fail() }
            close(backup.form, error, connection, &batch)
        }
    }

    private func send(
        _ bytes: [UInt8], of backup: BackupAnswer, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        answer(connection, &batch) { batch in
            if !backup.isBegun {
                handler.http.appendBackupHead(backup.head, into: &batch)
                handler.observer.note(backup.form.entry, status: 200, nil, batch)
            }
            handler.http.appendBackup(bytes, backup.head, into: &batch)
        }
        backup.isBegun = true
    }
}
