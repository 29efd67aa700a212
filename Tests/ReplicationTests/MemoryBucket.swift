import Replication
import Synchronization
import TestSupport

/// What all clients of a bucket in memory see.
final class MemoryObjects: Sendable {
    let objects = Mutex<[String: [UInt8]]>([:])

    var names: [String] { objects.withLock { $0.keys.sorted() } }

    subscript(_ name: String) -> [UInt8]? {
        get { objects.withLock { $0[name] } }
        set { objects.withLock { $0[name] = newValue } }
    }
}

/// A client of a bucket in memory, whose connection can be cut at any request.
final class MemoryBucket: Bucket {
    /// What happens to a request.
    enum Cut { case none, before, after }

    let shared: MemoryObjects
    /// What is asked of it.
    enum Operation { case create, put, get, list, delete }

    /// Called before each request: as if this client was paused there.
    var onRequest: (Operation, String) throws(BucketError) -> Void = { _, _ in }
    /// How often each was asked.
    private(set) var counts: [Operation: Int] = [:]
    /// Asked with the number of each request, from 0.
    var cut: (Int) -> Cut = { _ in .none }
    private(set) var requestCount = 0

    init(_ shared: MemoryObjects) { self.shared = shared }

    private func request<Result>(
        _ operation: Operation, _ name: String, _ body: () -> Result
    ) throws(BucketError) -> Result {
        try onRequest(operation, name)
        counts[operation, default: 0] += 1
        defer { requestCount += 1 }
        switch cut(requestCount) {
        case .none: return body()
        case .before: throw BucketError("cut before the request")
        case .after:
            _ = body()
            throw BucketError("cut after the request")
        }
    }

    func create(_ name: String, _ bytes: [UInt8]) throws(BucketError) -> CreateOutcome {
        do throws(BucketError) {
            return try request(.create, name) {
                shared.objects.withLock { objects in
                    guard objects[name] == nil else { return .exists }
                    objects[name] = bytes
                    return .created
                }
            }
        } catch {
            return .unknown(error.description)
        }
    }

    func put(_ name: String, _ bytes: [UInt8]) throws(BucketError) {
        try request(.put, name) { shared[name] = bytes }
    }

    func get(_ name: String, byteCountMax: Int) throws(BucketError) -> [UInt8]? {
        let found = try request(.get, name) { shared[name] }
        guard (found?.count ?? 0) <= byteCountMax else { throw BucketError("\(name) is too long") }
        return found
    }

    func list(_ prefix: String, after name: String) throws(BucketError) -> [String] {
        try request(.list, prefix) {
            Array(shared.names.filter { $0.hasPrefix(prefix) && $0 > name }.prefix(7))
        }
    }

    func delete(_ name: String) throws(BucketError) {
        try request(.delete, name) { shared[name] = nil }
    }

    func pause(beforeRetrying attempt: Int) throws(BucketError) {}
}
