import BlobProtocol
import BlobStore
import Logging

// What other threads tell a worker.

extension Worker {
    /// Does what a message says.
    ///
    /// - Returns: the connection that goes on because of it, if one does.
    func receive(
        _ message: WorkerMessage, _ batch: inout AnswerBatch
    ) -> Unmanaged<Connection>? {
        switch message.content {
        case .accepted(let number, let peer, let isDevice): accept(number, peer, isDevice: isDevice)
        case .progressCheck: counters.progress.answer()
        case .stop: stopSoon(&batch)
        case .stopAtOnce: stop(within: 0, &batch)
        case .changed, .replicated, .feedChanged, .backupReady, .memoryGranted:
            guard let connection = connections.connection(message.token),
                mayServe(connection, after: message.content, &batch)
            else { break }
            return .passUnretained(connection)
        }
        return nil
    }

    /// Does what a message to a connection says.
    ///
    /// - Returns: whether the connection is to be served because of it. If not, it waits on as it does.
    private func mayServe(
        _ connection: Connection, after message: WorkerMessage.Content, _ batch: inout AnswerBatch
    ) -> Bool {
        switch (message, connection.state.phase) {
        case (.changed(let result), _):
            guard let result = awaitReplication(connection, result) else { return false }
            return finishChange(connection, result, &batch)
        case (.replicated(let result), _): return finishChange(connection, result, &batch)
        case (.feedChanged, _):
            continueFeed(connection, &batch)
            finishTimeSlice(connection)
            return false
        case (.backupReady, .sendingBackup(let answer)):
            answer.isDue = true
            return true
        case (.memoryGranted, .awaitingMemory(let upload)):
            connection.state.enter(.body(upload))
            return true
        default: return false
        }
    }

    /// Has a connection wait until its change is in the bucket, where it wants that.
    ///
    /// - Returns: what it is answered with at once; nil: it waits.
    private func awaitReplication(
        _ connection: Connection, _ result: ChangeResult
    ) -> ChangeResult? {
        guard case .awaitingChange(let reply) = connection.state.phase,
            reply.form.acknowledgement == .replicated, result.tellsState
        else { return result }
        let store = environment.context.store
        return environment.context.replica.awaitBucket(
            result, last: store.lastSequence, shipped: store.shippedSequence,
            for: connection.address, asOf: now)
    }

    private func accept(_ number: Int32, _ peer: Peer, isDevice: Bool) {
        guard let descriptor = try? OwnedDescriptor(taking: number, from: "accept4"), !isStopping
        else { return counters.connections.change(by: -1) }
        let token = connections.reserve()
        let connection = Connection(
            Socket(descriptor), address: ConnectionAddress(inbox: inbox, token: token),
            peer: peer, store: environment.context.store, now: now)
        connection.session.isDevice = isDevice
        connection.session.userID = peer.userID
        do {
            try poller.add(
                connection.socket.number, token: token.rawValue, connection.state.interest.edges)
        } catch {
            environment.context.log.error("Cannot serve a connection: \(error)")
            counters.connections.change(by: -1)
            connections.release(token)
            return
        }
        connections.insert(connection)
    }

    /// The writer has done what a connection waits for.
    ///
    /// - Returns: whether its next request can be answered.
    private func finishChange(
        _ connection: Connection, _ result: ChangeResult, _ batch: inout AnswerBatch
    ) -> Bool {
        switch connection.state.phase {
        case .awaitingChange(let reply):
            endRequest(reply.form, connection, &batch) {
                handler.answer(reply, with: result, into: &$0)
            }
        case .awaitingCommit:
            if case .committed = result {
                connection.session.wait = .done
            } else {
                connection.session.wait = .inVain
            }
            connection.state.endRequest(isLast: false)
        default: break
        }
        if connection.mayAnswer { return true }
        finishTimeSlice(connection)
        return false
    }
}
