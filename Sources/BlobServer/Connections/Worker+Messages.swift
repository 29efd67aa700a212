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
        case .changed(let result):
            guard let connection = connections.connection(message.token) else { break }
            guard let result = awaitReplication(connection, result) else { break }
            finishChange(connection, result, &batch)
            if connection.mayAnswer { return .passUnretained(connection) }
            finishTimeSlice(connection)
        case .replicated(let result):
            guard let connection = connections.connection(message.token) else { break }
            finishChange(connection, result, &batch)
            if connection.mayAnswer { return .passUnretained(connection) }
            finishTimeSlice(connection)
        case .feedChanged:
            guard let connection = connections.connection(message.token) else { break }
            continueFeed(connection, &batch)
            finishTimeSlice(connection)
        case .backupReady:
            guard let connection = connections.connection(message.token),
                case .sendingBackup(let answer) = connection.state.phase
            else { break }
            answer.isDue = true
            return .passUnretained(connection)
        case .memoryGranted:
            guard let connection = connections.connection(message.token),
                case .awaitingMemory(let upload) = connection.state.phase
            else { break }
            connection.state.enter(.body(upload))
            return .passUnretained(connection)
        }
        return nil
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
        let store = environment.store
        return environment.replica.awaitBucket(
            result, last: store.lastSequence, shipped: store.shippedSequence,
            for: connection.address, asOf: now)
    }

    private func accept(_ number: Int32, _ peer: Peer, isDevice: Bool) {
        guard let descriptor = try? OwnedDescriptor(taking: number, from: "accept4"), !isStopping
        else { return counters.countConnection(-1) }
        let token = connections.reserve()
        let connection = Connection(
            Socket(descriptor), address: ConnectionAddress(inbox: inbox, token: token),
            peer: peer, store: environment.store, now: now)
        connection.session.isDevice = isDevice
        connection.session.userID = peer.userID
        do {
            try poller.addConnection(
                connection.socket.number, token: token.rawValue, connection.state.interest)
        } catch {
            environment.log.error("Cannot serve a connection: \(error)")
            counters.countConnection(-1)
            connections.release(token)
            return
        }
        connections.insert(connection)
    }

    /// The writer has done what a connection waits for.
    private func finishChange(
        _ connection: Connection, _ result: ChangeResult, _ batch: inout AnswerBatch
    ) {
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
    }
}
