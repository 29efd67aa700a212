import BlobStore

// What is done while bodies wait for memory. `BodyMemory` has the rules.

extension Worker {
    /// Bodies that are moved to files or refused at once for lack of memory: the other workers have run in between.
    private static let relievedBodyCountMax = 64

    /// Refuses a body that has waited for memory as long as it may.
    func refuseWaiting(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        // If it has just been granted what it waits for, the message comes next.
        guard upload.reservation?.cancel() ?? true else { return }
        refuseForMemory(upload, connection, &batch)
    }

    /// Takes memory and files from stalled bodies while others wait for some. What is in memory goes
    /// to files. If no file is free, the body is refused.
    func relieveBodyMemory(_ batch: inout AnswerBatch) {
        guard environment.bodyMemory.isWanted else { return }
        var wanted = environment.bodyMemory.wanted
        for (connection, upload) in stalledBodies().prefix(Self.relievedBodyCountMax)
        where !wanted.isNothing {
            let held = upload.reservedByteCount
            let spools = upload.reservation?.spoolCount ?? 0
            guard (wanted.byteCount > 0 && held > 0) || (wanted.spoolCount > 0 && spools > 0) else {
                continue
            }
            do throws(BodyFailure) {
                if wanted.byteCount > 0, held > Upload.pieceByteCountMin {
                    let released = try upload.releaseMemory()
                    wanted.byteCount -= released
                    if released > 0 { continue }
                }
                wanted.byteCount -= held
                wanted.spoolCount -= spools
                refuseForMemory(upload, connection, &batch)
            } catch {
                refuse(upload, error, connection, &batch)
            }
            finishTimeSlice(connection)
        }
    }

    /// Bodies that hardly move, those with the most memory first, so that few are refused. Of equals,
    /// those that have not moved for the longest time come first.
    private func stalledBodies() -> [(connection: Connection, upload: Upload)] {
        var stalled: [(connection: Connection, upload: Upload)] = []
        for connection in connections.all {
            // A client is not to blame for bytes that it has sent and nobody has read yet.
            guard case .body(let upload) = connection.state.phase, upload.isStalled(asOf: now),
                !connection.state.input.mayRead, !connection.state.isQueued
            else { continue }
            stalled.append((connection, upload))
        }
        stalled.sort {
            ($1.upload.reservedByteCount, $0.upload.pace.since)
                < ($0.upload.reservedByteCount, $1.upload.pace.since)
        }
        return stalled
    }

    private func refuseForMemory(
        _ upload: Upload, _ connection: Connection, _ batch: inout AnswerBatch
    ) {
        refuse(
            upload, .wire(.noBodyMemory(environment.bodyMemory.limits)), connection, &batch)
    }
}
