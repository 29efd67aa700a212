import BlobProtocol
import BlobStore

// Sending a backup. A thread of its own takes it. Each piece is sent when the one before has left, so
// that a slow client holds one piece in memory and no snapshot.

extension Worker {
    /// Begins a backup, or sends its next piece.
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
                guard !backup.form.isHTTP10 else {
                    return connection.state.endRequest(isLast: true)
                }
                endRequest(.http(backup.form, backup.entry), connection, &batch) {
                    handler.http.appendBackup([], backup.form, into: &$0)
                }
            case .failed(let error): throw handler.problem(error)
            }
        } catch {
            // Behind the head, only a cut says that something is wrong.
            guard !backup.isBegun else { return connection.state.fail() }
            close(.http(backup.form, backup.entry), error, connection, &batch)
        }
    }

    private func send(
        _ bytes: [UInt8], of backup: BackupAnswer, _ connection: Connection,
        _ batch: inout AnswerBatch
    ) {
        answer(connection, &batch) { batch in
            if !backup.isBegun {
                handler.http.appendBackupHead(backup.form, into: &batch)
                handler.observer.note(backup.entry, status: 200, nil, batch)
            }
            handler.http.appendBackup(bytes, backup.form, into: &batch)
        }
        backup.isBegun = true
    }
}
