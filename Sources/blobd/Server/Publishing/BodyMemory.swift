import Synchronization

/// The memory for bodies on their way into the store, shared by all connections.
///
/// A body reserves what its `PayloadWriter` may keep in memory before its first byte is read;
/// longer bodies are spooled. When nothing is left, connections wait in line, unread, so that their
/// clients wait too: back-pressure instead of memory.
final class BodyMemory: Sendable {
    private struct State {
        var byteCountFree: Int
        var bodyCountFree: Int
        var waiting: [Waiter] = []
    }

    private struct Waiter {
        let byteCount: Int
        let connection: ConnectionAddress
    }

    private let state: Mutex<State>

    /// The bytes to give out in all.
    let byteCountMax: Int

    /// A budget of bytes, and of bodies, each of which may need a descriptor to be spooled.
    init(byteCountMax: Int, bodyCountMax: Int) {
        self.byteCountMax = byteCountMax
        state = Mutex(State(byteCountFree: byteCountMax, bodyCountFree: bodyCountMax))
    }

    /// Bytes that are given out at the moment.
    var byteCountReserved: Int { state.withLock { byteCountMax - $0.byteCountFree } }

    /// Takes `byteCount` bytes for a body.
    ///
    /// - Returns: the reservation; nil when others come first or too little is left. The connection
    ///   is then in line, and its worker gets the reservation as a message later.
    func reserve(_ byteCount: Int, for connection: ConnectionAddress) -> BodyReservation? {
        // No request may wait for more than there can ever be.
        let byteCount = min(byteCount, byteCountMax)
        let isGranted = state.withLock { state in
            guard state.waiting.isEmpty, state.bodyCountFree > 0, state.byteCountFree >= byteCount
            else {
                state.waiting.append(Waiter(byteCount: byteCount, connection: connection))
                return false
            }
            state.bodyCountFree -= 1
            state.byteCountFree -= byteCount
            return true
        }
        return isGranted ? BodyReservation(byteCount: byteCount, of: self) : nil
    }

    /// Takes a connection that has ended out of the line. One that has just been granted memory
    /// gives it back when its worker lets go of the message.
    func cancel(_ connection: ConnectionAddress) {
        state.withLock { $0.waiting.removeAll { $0.connection == connection } }
    }

    fileprivate func release(_ byteCount: Int) {
        let granted = state.withLock { state in
            state.byteCountFree += byteCount
            state.bodyCountFree += 1
            var granted: [Waiter] = []
            while let first = state.waiting.first, state.bodyCountFree > 0,
                state.byteCountFree >= first.byteCount
            {
                state.byteCountFree -= first.byteCount
                state.bodyCountFree -= 1
                granted.append(state.waiting.removeFirst())
            }
            return granted
        }
        // Outside of the lock: a message that cannot be delivered gives its reservation back.
        for waiter in granted {
            waiter.connection.post(
                .memoryGranted(BodyReservation(byteCount: waiter.byteCount, of: self)))
        }
    }
}

/// A share of ``BodyMemory``, given back when the last reference goes: after the body is committed,
/// or given up.
final class BodyReservation: Sendable {
    private let byteCount: Int
    private let memory: BodyMemory

    fileprivate init(byteCount: Int, of memory: BodyMemory) {
        self.byteCount = byteCount
        self.memory = memory
    }

    deinit {
        memory.release(byteCount)
    }
}
