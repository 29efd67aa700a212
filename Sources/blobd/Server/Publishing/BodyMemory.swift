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
        let bodyCount: Int
        let connection: ConnectionAddress
    }

    private let state: Mutex<State>

    /// The bytes to give out in all.
    let byteCountMax: Int
    private let bodyCountMax: Int

    /// A budget of bytes, and of bodies, each of which may need a descriptor to be spooled.
    init(byteCountMax: Int, bodyCountMax: Int) {
        self.byteCountMax = byteCountMax
        self.bodyCountMax = bodyCountMax
        state = Mutex(State(byteCountFree: byteCountMax, bodyCountFree: bodyCountMax))
    }

    /// Bytes that are given out at the moment.
    var byteCountReserved: Int { state.withLock { byteCountMax - $0.byteCountFree } }

    /// Takes `byteCount` bytes for a body.
    ///
    /// - Parameter bodyCount: for how many bodies it counts, because it may need so many
    ///   descriptors.
    /// - Returns: the reservation; nil when others come first or too little is left. The connection
    ///   is then in line, and its worker gets the reservation as a message later.
    func reserve(
        _ byteCount: Int, bodyCount: Int = 1, for connection: ConnectionAddress
    ) -> BodyReservation? {
        // No request may wait for more than there can ever be.
        let byteCount = min(byteCount, byteCountMax)
        let bodyCount = min(bodyCount, bodyCountMax)
        let isGranted = state.withLock { state in
            guard state.waiting.isEmpty, state.bodyCountFree >= bodyCount,
                state.byteCountFree >= byteCount
            else {
                state.waiting.append(
                    Waiter(byteCount: byteCount, bodyCount: bodyCount, connection: connection))
                return false
            }
            state.bodyCountFree -= bodyCount
            state.byteCountFree -= byteCount
            return true
        }
        return isGranted ? BodyReservation(byteCount, bodyCount, of: self) : nil
    }

    /// Takes a connection that has ended out of the line. One that has just been granted memory
    /// gives it back when its worker lets go of the message.
    func cancel(_ connection: ConnectionAddress) {
        state.withLock { $0.waiting.removeAll { $0.connection == connection } }
    }

    fileprivate func release(_ byteCount: Int, _ bodyCount: Int) {
        let granted = state.withLock { state in
            state.byteCountFree += byteCount
            state.bodyCountFree += bodyCount
            var granted: [Waiter] = []
            while let first = state.waiting.first, state.bodyCountFree >= first.bodyCount,
                state.byteCountFree >= first.byteCount
            {
                state.byteCountFree -= first.byteCount
                state.bodyCountFree -= first.bodyCount
                granted.append(state.waiting.removeFirst())
            }
            return granted
        }
        // Outside of the lock: a message that cannot be delivered gives its reservation back.
        for waiter in granted {
            waiter.connection.post(
                .memoryGranted(BodyReservation(waiter.byteCount, waiter.bodyCount, of: self)))
        }
    }
}

/// A share of ``BodyMemory``, given back when the last reference goes: after the body is committed,
/// or given up.
final class BodyReservation: Sendable {
    private let byteCount: Int
    private let bodyCount: Int
    private let memory: BodyMemory

    fileprivate init(_ byteCount: Int, _ bodyCount: Int, of memory: BodyMemory) {
        self.byteCount = byteCount
        self.bodyCount = bodyCount
        self.memory = memory
    }

    deinit {
        memory.release(byteCount, bodyCount)
    }
}
