import BlobStore
import CLinux

// The memory of unread answers. `AnswerMemory` describes the rules.

extension Worker {
    /// A connection with at most this many unread bytes, such as heads of payloads, is not closed for lack of memory.
    private static let heldByteCountFree = 4 << 10
    /// How long a client may read nothing while memory for answers is short.
    private static let stalledMilliseconds = 1_000

    /// Ends the connection if it holds more than before while too much is held in total.
    func account(_ connection: Connection) {
        let held = connection.unreadByteCount
        let difference = held - connection.heldByteCount
        guard difference != 0 else { return }
        if connection.heldByteCount == 0 {
            connection.lastProgress = (connection.progress, now)
        }
        connection.heldByteCount = held
        answerMemory.change(by: difference)
        if difference > 0, held > Self.heldByteCountFree, connection.isHeldByClient,
            answerMemory.isExceeded
        {
            endForMemory(connection)
        }
    }

    func releaseHeld(_ connection: Connection) {
        answerMemory.change(by: -connection.heldByteCount)
        connection.heldByteCount = 0
    }

    /// Called at each tick.
    func checkAnswerMemory() {
        if answerMemory.byteCountHeld > 0 { noteProgress() }
        if answerMemory.isShort { endStalledReaders() }
        // Takes milliseconds if much was held.
        if answerMemory.takeShouldTrim(asOf: now) { clinux_trim_memory() }
    }

    private func noteProgress() {
        for connection in connections.all where connection.heldByteCount > 0 {
            let progress = connection.progress
            if progress != connection.lastProgress.byteCount {
                connection.lastProgress = (progress, now)
            }
        }
    }

    /// Ends connections that have read nothing for a while, longest first, until memory is no longer short.
    private func endStalledReaders() {
        var stalled = connections.all.filter { connection in
            connection.heldByteCount > Self.heldByteCountFree && connection.isHeldByClient
                && now.milliseconds(since: connection.lastProgress.at)
                    >= Self.stalledMilliseconds
        }
        stalled.sort { $0.lastProgress.at < $1.lastProgress.at }
        for connection in stalled {
            guard answerMemory.isShort else { return }
            endForMemory(connection)
            finishTimeSlice(connection)
        }
    }

    private func endForMemory(_ connection: Connection) {
        counters.unreadEnds.add()
        connection.state.fail()
    }
}
