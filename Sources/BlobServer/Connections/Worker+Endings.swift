import BlobStore

// How connections end: at a deadline, when the daemon stops, or when the peer is gone.

extension Worker {
    private static let tickMilliseconds = 250
    /// How long a stop waits for connections that have not sent anything.
    private static let firstRequestMilliseconds = 1_000

    /// Called at each tick: ends what has taken too long, and releases what is no longer needed.
    func checkDeadlines(_ batch: inout AnswerBatch) {
        nextTick = now.after(milliseconds: Self.tickMilliseconds)
        stopWhenAllHaveBegun(&batch)
        guard connections.count > 0 else { return }
        checkAnswerMemory()
        for connection in connections.all {
            releasePages(of: connection)
            if checkDeadline(of: connection, &batch) { finishTimeSlice(connection) }
        }
        relieveBodyMemory(&batch)
    }

    private func releasePages(of connection: Connection) {
        if !connection.inFlight.isEmpty {
            connection.releaseRead()
            connection.inFlight.shrink()
        }
        guard connection.inFlight.isEmpty else { return }
        if case .draining = connection.state.phase {
            forget(connection)
        } else if connection.output.isEmpty {
            releaseDrainSlot(of: connection)
        }
    }

    /// - Returns: whether something was done for the connection.
    private func checkDeadline(
        of connection: Connection, _ batch: inout AnswerBatch
    ) -> Bool {
        switch connection.state.phase {
        case .draining, .closed: return false
        case .body(let upload): upload.notePace(asOf: now)
        case .awaitingMemory(let upload) where now >= upload.waitEnd:
            refuseWaiting(upload, connection, &batch)
            return true
        case .awaitingFeed(let reader), .streaming(let reader):
            if checkReader(reader, connection, &batch) { return true }
        default: break
        }
        let progress = connection.deadline.isTransfer ? connection.progress : 0
        guard connection.deadline.isOver(now, limits, progress: progress) else {
            return false
        }
        giveUp(connection, &batch)
        return true
    }

    private func giveUp(_ connection: Connection, _ batch: inout AnswerBatch) {
        switch connection.deadline.kind {
        case .head, .body:
            counters.timeouts.add()
            refuseLate(connection, &batch)
        case .answer:
            counters.timeouts.add()
            connection.state.fail()
        case .idle, .linger, .ours:
            connection.state.fail()
        }
    }

    /// Stops once every connection has sent something, or a moment later. So a restart under a service manager's
    /// sockets answers every client.
    func stopSoon(_ batch: inout AnswerBatch) {
        firstRequestEnd = now.after(milliseconds: Self.firstRequestMilliseconds)
        stopWhenAllHaveBegun(&batch)
    }

    private func stopWhenAllHaveBegun(_ batch: inout AnswerBatch) {
        guard let firstRequestEnd,
            now >= firstRequestEnd || connections.all.allSatisfy(\.state.hasBegun)
        else { return }
        stop(within: limits.drainMilliseconds, &batch)
    }

    /// Answers the requests that have arrived, then ends each connection.
    func stop(within milliseconds: Int, _ batch: inout AnswerBatch) {
        firstRequestEnd = nil
        handler.isStopping = true
        stopsAt = now.after(milliseconds: milliseconds)
        for connection in connections.all {
            if case .draining = connection.state.phase {
                forget(connection)
            } else if connection.state.takesInput {
                connection.state.readOnceMore()
                if connection.state.enterRunQueue() { runQueue.append(connection.token) }
            } else {
                // A wait is answered with the changes so far, a stream ends, and a backup is cut off.
                if case .sendingBackup = connection.state.phase { connection.state.fail() }
                continueFeed(connection, &batch)
                finishTimeSlice(connection)
            }
        }
    }

    func shouldEnd() -> Bool {
        if connections.count == 0 { return true }
        guard let stopsAt, now >= stopsAt else { return false }
        if refuseWaits() { return false }
        for connection in connections.all { forget(connection) }
        return true
    }

    /// Refuses, once, the requests that wait for the bucket. Returns whether one of this worker may: its answer is sent
    /// in the next iteration.
    private func refuseWaits() -> Bool {
        guard !hasRefusedWaits else { return false }
        hasRefusedWaits = true
        let replica = environment.context.replica
        replica.failAll(.stopping)
        replica.fetches.failAll(.refused(.stopping))
        return connections.all.contains(where: \.state.awaitsResult)
    }

    /// Ends a connection: at once, or when its peer has read the pages that were sent to it.
    func drop(_ connection: Connection) {
        connection.abandonOutput()
        releaseHeld(connection)
        connection.releaseRead()
        // At a stop the process closes all sockets; its next run waits for their readers.
        if !connection.inFlight.isEmpty, !isStopping {
            drain(connection)
        } else {
            forget(connection)
        }
    }

    /// Shuts down both directions but keeps the socket, which shows when everything has been read.
    private func drain(_ connection: Connection) {
        abandonRequest(connection)
        connection.socket.end()
        // The poller would report a socket that is shut down at every wait.
        poller.remove(connection.socket.number)
        connection.rest = []
        connection.state.enter(.draining)
        // A draining connection is counted separately.
        counters.countConnection(isDevice: connection.session.isDevice, by: -1)
        counters.draining.change(by: 1)
    }

    /// The socket is closed when the iteration ends.
    private func forget(_ connection: Connection) {
        guard connections.remove(connection) else { return }
        if case .draining = connection.state.phase {
            counters.draining.change(by: -1)
        } else {
            counters.countConnection(isDevice: connection.session.isDevice, by: -1)
        }
        abandonRequest(connection)
        releaseHeld(connection)
        connection.state.enter(.closed)
        releaseDrainSlot(of: connection)
    }

    private func releaseDrainSlot(of connection: Connection) {
        guard connection.drainSlot == .taken else { return }
        connection.drainSlot = .none
        environment.drainSlots.release(for: connection.peer)
    }

    private func abandonRequest(_ connection: Connection) {
        switch connection.state.phase {
        case .awaitingMemory(let upload):
            upload.reservation?.cancel()
            upload.abandon()
        case .body(let upload): upload.abandon()
        case .awaitingFeed(let reader), .streaming(let reader): reader.registration = nil
        case .sendingBackup(let answer): answer.stream?.cancel()
        default: break
        }
    }
}
