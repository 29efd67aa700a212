/// The requests of one connection that are sent and not answered, oldest first.
struct InFlightRing: ~Copyable {
    private var entries: FixedArray<PlannedRequest>
    private let capacity: Int
    private var head = 0
    /// How many there are.
    private(set) var count = 0

    /// Room for `capacity` requests.
    init(capacity: Int) {
        self.capacity = capacity
        entries = FixedArray(count: capacity) { _ in
            PlannedRequest(kind: .opening, index: 0, intendedAt: 0, stamp: 0)
        }
    }

    var isFull: Bool { count == capacity }

    /// Adds a request as the youngest. There must be room.
    mutating func append(_ request: PlannedRequest) {
        precondition(count < capacity)
        var position = head + count
        if position >= capacity { position -= capacity }
        entries[position] = request
        count += 1
    }

    /// The oldest. There must be one.
    var first: PlannedRequest {
        precondition(count > 0)
        return entries[head]
    }

    /// Request `position`, counted from the oldest.
    func request(_ position: Int) -> PlannedRequest {
        precondition(position < count)
        return entries[(head + position) % capacity]
    }

    /// Takes the oldest out.
    mutating func removeFirst() {
        precondition(count > 0)
        count -= 1
        head += 1
        if head == capacity { head = 0 }
    }
}
