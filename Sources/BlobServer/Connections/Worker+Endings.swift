import BlobStore

// How connections end by themselves: their time is over, or the daemon stops.

extension Worker {
    func checkDeadlines(_ batch: inout AnswerBatch) {
        nextTick = now.after(milliseconds: DaemonLimits.tickMilliseconds)
        guard connections.count > 0 else { return }
        checkAnswerMemory()
        for connection in connections.all {
            if !connection.inFlight.isEmpty {
                connection.releaseRead()
                connection.inFlight.shrink()
            }
            if case .draining = connection.state.phase {
                if connection.inFlight.isEmpty { forget(connection) }
                continue
            }
            if connection.hasDrainSlot, connection.inFlight.isEmpty, connection.output.isEmpty {
                connection.hasDrainSlot = false
                environment.drainSlots.release(for: connection.peer)
            }
            switch connection.state.phase {
            case .body(let upload): upload.notePace(asOf: now)
            case .awaitingMemory(let upload) where now >= upload.waitEnd:
                refuseWaiting(connection, &batch)
                continue
            default: break
            }
            if let reader = connection.state.feedReader, now >= reader.end,
                connection.output.isEmpty
            {
                continueFeed(connection, &batch)
                finishTimeSlice(connection)
                continue
            }
            let progress = connection.deadline.isTransfer ? connection.progress : 0
            guard connection.deadline.isOver(now, environment.limits, progress: progress) else {
                continue
            }
            giveUp(connection, &batch)
            finishTimeSlice(connection)
        }
        relieve(&batch)
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

    func stop(
        within milliseconds: Int, _ input: inout InputBuffer, _ batch: inout AnswerBatch
    ) {
        isStopping = true
        handler.isStopping = true
        stopsAt = now.after(milliseconds: milliseconds)
        for connection in connections.all {
            if case .draining = connection.state.phase {
                forget(connection)
                continue
            }
            // What was asked before the stop is still answered.
            if connection.state.takesInput {
                connection.state.readOnceMore()
                runTimeSlice(connection, &input, &batch)
            } else {
                // Nothing more will come: a wait is answered with what there is, a stream ended.
                continueFeed(connection, &batch)
            }
            finishTimeSlice(connection)
        }
    }

    func shouldEnd() -> Bool {
        if connections.count == 0 { return true }
        guard let stopsAt, now >= stopsAt else { return false }
        for connection in connections.all { forget(connection) }
        return true
    }
}
