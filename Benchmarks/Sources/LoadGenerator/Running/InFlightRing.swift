/// The unanswered requests of a connection, oldest first, in a buffer of fixed size.
struct InFlightRing {
    private var entries: [PlannedRequest]
    private let capacity: Int
    private var head = 0
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        entries = Array(repeating: .opening, count: capacity)
    }

    var isFull: Bool { count == capacity }

    mutating func append(_ request: PlannedRequest) {
        precondition(count < capacity)
        var position = head + count
        if position >= capacity { position -= capacity }
        entries[position] = request
        count += 1
    }

    var first: PlannedRequest {
        precondition(count > 0)
        return entries[head]
    }

    func request(_ position: Int) -> PlannedRequest {
        precondition(position < count)
        return entries[(head + position) % capacity]
    }

    mutating func removeFirst() {
        precondition(count > 0)
        count -= 1
        head += 1
        if head == capacity { head = 0 }
    }
}
