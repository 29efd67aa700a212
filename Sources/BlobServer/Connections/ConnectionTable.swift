/// The connections of a worker. A removed one is released when the iteration ends. Until then it may be used without
/// retaining it (``unretained(_:)``), so an event changes no reference count.
struct ConnectionTable: ~Copyable {
    // Not private: Swift 6.3 could not build `Worker` without optimisation.
    struct Slot {
        var connection: Unmanaged<Connection>?
        var generation: UInt32 = 0
    }

    private var connections: [Connection?] = []
    private var slots = TrivialArray<Slot>(capacity: 64)
    private var freeSlots: [Int] = []
    private var removed: [Connection] = []
    private(set) var count = 0

    /// Reserves a slot for a new connection. Call ``insert(_:)`` or ``release(_:)`` afterwards.
    mutating func reserve() -> ConnectionToken {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = connections.count
            connections.append(nil)
            slots.append(Slot())
        }
        slots[slot].generation &+= 1
        return ConnectionToken(slot: slot, generation: slots[slot].generation)
    }

    mutating func insert(_ connection: Connection) {
        let slot = connection.token.slot
        slots[slot].connection = .passUnretained(connection)
        connections[slot] = connection
        count += 1
    }

    mutating func release(_ token: ConnectionToken) { freeSlots.append(token.slot) }

    /// The connection of a token, valid until the iteration ends; nil if it was removed.
    @inline(__always)
    func unretained(_ token: ConnectionToken) -> Unmanaged<Connection>? {
        let slot = token.slot
        guard slot < slots.count, slots[slot].generation == token.generation else { return nil }
        return slots[slot].connection
    }

    func connection(_ token: ConnectionToken) -> Connection? {
        unretained(token)?.takeUnretainedValue()
    }

    var all: [Connection] { connections.compactMap { $0 } }

    mutating func remove(_ connection: Connection) -> Bool {
        let slot = connection.token.slot
        guard connections[slot] === connection else { return false }
        removed.append(connection)
        slots[slot].connection = nil
        connections[slot] = nil
        freeSlots.append(slot)
        count -= 1
        return true
    }

    /// Releases removed connections, which nothing uses now.
    mutating func endIteration() {
        if !removed.isEmpty { removed.removeAll() }
    }
}
