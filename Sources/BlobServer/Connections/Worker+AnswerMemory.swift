import CLinux

// The memory of unread answers. `AnswerMemory` has the rules.

extension Worker {
    /// A connection that holds no more unread bytes than this is not closed for lack of memory: heads of payloads.
    private static let heldByteCountFree = 4 << 10
    /// How long a client may read nothing while memory for answers is short.
    private static let stalledMilliseconds = 1_000

    /// The connection ends if it holds more than before while too much is held in all.
    func account(_ connection: Connection) {
        let held = connection.unreadByteCount
        let difference = held - connection.heldByteCount
        guard difference != 0 else { return }
        if connection.heldByteCount == 0 {
            connection.lastProgress = (connection.progress, now)
        }
        connection.heldByteCount = held
        answerMemory.change(by: difference)
        if difference > 0, held > Self.heldByteCountFree, answerMemory.isExceeded {
            endForMemory(connection)
        }
    }

    func releaseHeld(_ connection: Connection) {
        answerMemory.change(by: -connection.heldByteCount)
        connection.heldByteCount = 0
    }

    /// At each tick.
    func checkAnswerMemory() {
        if answerMemory.byteCountHeld > 0 { noteProgress() }
        if answerMemory.isShort { endStalledReaders() }
        // Costs some milliseconds where much was held.
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

    /// Ends connections that have read nothing for a while, the longest first, until memory is not short any more.
    private func endStalledReaders() {
        var stalled = connections.all.filter { connection in
            connection.heldByteCount > Self.heldByteCountFree
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
