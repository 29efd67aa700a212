import BlobProtocol

/// A request that has no answer yet.
struct UnansweredRequest: Sendable {
    var id: UInt32
    var operation: Opcode
    var flags: RequestFlags
}

/// The requests without an answer, oldest first; at most `DaemonInfo.requestsInFlightMax`.
///
/// Removing the first only moves `start`. The array is compacted when half of it is unused.
struct RequestQueue: Sendable {
    private var requests: [UnansweredRequest] = []
    private var start = 0

    var count: Int { requests.count - start }

    var first: UnansweredRequest? { start < requests.count ? requests[start] : nil }

    mutating func append(_ request: UnansweredRequest) {
        requests.append(request)
    }

    mutating func removeFirst() {
        start += 1
        guard start * 2 >= requests.count else { return }
        requests.removeFirst(start)
        start = 0
    }
}
