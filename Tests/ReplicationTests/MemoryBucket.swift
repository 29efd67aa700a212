import ObjectStore
import Replication
import Synchronization
import TestSupport

/// What all clients of a bucket in memory see.
final class MemoryObjects: Sendable {
    /// The bytes by their names, and the names in order: a listing sorts nothing.
    private struct State {
        var bytes: [String: [UInt8]] = [:]
        var names: [String] = []

        /// Where the first name is that is not before another one.
        func place(of name: String) -> Int {
            var (low, high) = (0, names.count)
            while low < high {
                let middle = (low + high) / 2
                if names[middle] < name { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    private let state = Mutex(State())
    /// Called with each new client, before it is used: by one thread, as the clients.
    nonisolated(unsafe) var onConnect: ((MemoryBucket) -> Void)?

    init(_ all: [String: [UInt8]] = [:]) {
        state.withLock { $0 = State(bytes: all, names: all.keys.sorted()) }
    }

    /// All of it.
    var all: [String: [UInt8]] { state.withLock { $0.bytes } }

    var names: [String] { state.withLock { $0.names } }

    subscript(_ name: String) -> [UInt8]? {
        get { state.withLock { $0.bytes[name] } }
        set {
            state.withLock { state in
                let place = state.place(of: name)
                switch (state.bytes.updateValue(newValue, of: name), newValue) {
                case (nil, .some): state.names.insert(name, at: place)
                case (.some, nil): state.names.remove(at: place)
                default: break
                }
            }
        }
    }

    /// - Returns: whether there was nothing under the name.
    func create(_ name: String, _ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.bytes[name] == nil else { return false }
            state.names.insert(name, at: state.place(of: name))
            state.bytes[name] = bytes
            return true
        }
    }

    /// At most so many names that begin with a text, behind one of them.
    func names(_ prefix: String, after name: String, countMax: Int) -> [String] {
        state.withLock { state in
            let begin = state.place(of: max(prefix, name))
            let rest = state.names[begin...].lazy.drop { $0 <= name }
            return Array(rest.prefix { $0.hasPrefix(prefix) }.prefix(countMax))
        }
    }
}

extension [String: [UInt8]] {
    /// Replaces the bytes of a name, or removes them.
    ///
    /// - Returns: those that were there.
    fileprivate mutating func updateValue(_ bytes: [UInt8]?, of name: String) -> [UInt8]? {
        guard let bytes else { return removeValue(forKey: name) }
        return updateValue(bytes, forKey: name)
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
    var onRequest: (Operation, String) throws(ReplicationError) -> Void = { _, _ in }
    /// How often each was asked.
    private(set) var counts: [Operation: Int] = [:]
    /// Asked with the number of each request, from 0.
    var cut: (Int) -> Cut = { _ in .none }
    private(set) var requestCount = 0
    /// How many names a page of a listing has at most.
    var pageNameCount = 7
    /// Whether pages of a listing that are not the last may have fewer names than others.
    var hasShortPages = false
    /// Whether the request is sent together with one before it, and takes no time of its own.
    private(set) var isAlongside = false
    /// How many requests were sent together, each time.
    private(set) var widths: [Int] = []
    /// Bytes that were given by requests that were sent together, at most.
    private(set) var roundByteCountMax = 0
    private var givenByteCount = 0

    init(_ shared: MemoryObjects) {
        self.shared = shared
        shared.onConnect?(self)
    }

    private func request<Result>(
        _ operation: Operation, _ name: String, _ body: () -> Result
    ) throws(ReplicationError) -> Result {
        try onRequest(operation, name)
        counts[operation, default: 0] += 1
        defer { requestCount += 1 }
        switch cut(requestCount) {
        case .none: return body()
        case .before: throw .bucket("cut before the request")
        case .after:
            _ = body()
            throw .bucket("cut after the request")
        }
    }

    func create(_ name: String, _ bytes: [UInt8]) throws(ReplicationError) -> CreateOutcome {
        do throws(ReplicationError) {
            return try request(.create, name) {
                shared.create(name, bytes) ? .created : .exists
            }
        } catch {
            // What is refused is not there, and will not be.
            switch error {
            case .stopped, .bucket(_, isLasting: true): throw error
            default: return .unknown(error.description)
            }
        }
    }

    func put(_ name: String, _ bytes: [UInt8]) throws(ReplicationError) {
        try request(.put, name) { shared[name] = bytes }
    }

    func get(_ name: String, byteCountMax: Int) throws(ReplicationError) -> [UInt8]? {
        let found = try request(.get, name) { shared[name] }
        guard (found?.count ?? 0) <= byteCountMax else {
            throw .damaged(name: name, why: "has more than \(byteCountMax) bytes")
        }
        givenByteCount += found?.count ?? 0
        return found
    }

    func list(_ prefix: String, after name: String) throws(ReplicationError) -> ListPage {
        try request(.list, prefix) {
            let names = shared.names(prefix, after: name, countMax: pageNameCount + 1)
            let countMax =
                hasShortPages && names.count > 7 ? 3 + requestCount % 5 : pageNameCount
            return ListPage(
                names.prefix(countMax).map { .init(name: $0, byteCount: shared[$0]?.count ?? 0) },
                isLast: names.count <= countMax)
        }
    }

    func delete(_ name: String) throws(ReplicationError) {
        try request(.delete, name) { shared[name] = nil }
    }

    func pause(beforeRetrying attempt: Int) throws(ReplicationError) {}

    func forEach(_ count: Int, _ body: @Sendable (Int, any Bucket) throws -> Void) throws {
        widths.append(count)
        let before = givenByteCount
        defer { roundByteCountMax = max(roundByteCountMax, givenByteCount - before) }
        defer { isAlongside = false }
        for index in 0..<count {
            isAlongside = index > 0
            try body(index, self)
        }
    }
}
