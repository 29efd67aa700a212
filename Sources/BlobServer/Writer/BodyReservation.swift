import Synchronization

/// What one body has of ``BodyMemory``. It is released with the last reference: when the body is
/// committed or abandoned.
final class BodyReservation: Sendable {
    enum Wait: Equatable {
        /// It has what it needs.
        case granted
        /// It is queued: its connection gets `memoryGranted`.
        case waiting
        /// The queue is full.
        case refused
    }

    let memory: BodyMemory
    let peer: Peer
    let connection: ConnectionAddress
    // Changed under the memory's lock.
    let bytes = Atomic<Int>(0)
    let spools = Atomic<Int>(0)

    init(of memory: BodyMemory, _ peer: Peer, for connection: ConnectionAddress) {
        self.memory = memory
        self.peer = peer
        self.connection = connection
    }

    deinit {
        memory.release(bytes.now, spools.now, of: peer)
    }

    /// Memory it has, in bytes.
    var byteCount: Int { bytes.now }
    /// Files it has.
    var spoolCount: Int { spools.now }

    /// Reserves memory up to `byteCount` bytes in all, or up to the most that a body of its kind can
    /// have. Never waits.
    ///
    /// - Returns: false when they are not free, or others came first.
    func grow(to byteCount: Int, _ kind: BodyKind) -> Bool {
        byteCount <= bytes.now || memory.grow(self, to: byteCount, kind)
    }

    /// Reserves one file more. Never waits.
    ///
    /// - Returns: false when none is free.
    func takeSpool() -> Bool { memory.takeSpool(self) }

    /// Reserves what is needed, or queues for it.
    func wait(for need: BodyMemory.Need) -> Wait { memory.wait(self, for: need) }

    /// Leaves the queue.
    ///
    /// - Returns: false when it is not queued, or no longer.
    @discardableResult
    func cancel() -> Bool { memory.cancel(self) }

    /// Releases what it has over `byteCount` bytes.
    func shrink(to byteCount: Int) {
        let less = bytes.now - byteCount
        guard less > 0 else { return }
        bytes.change(by: -less)
        memory.release(less, 0, of: peer)
    }
}
