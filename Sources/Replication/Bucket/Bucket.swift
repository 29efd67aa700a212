package import ObjectStore

/// Where a shard is kept: names with bytes, below one prefix of a bucket. Every call may take long, and
/// may fail; one thread uses one of these.
///
/// A name that was created, deleted or listed is seen so by everyone at once, as S3 and its likes promise
/// (strong consistency). Of their conditions only "create if absent" is used.
package protocol Bucket: AnyObject {
    /// Tried once (`If-None-Match: *`).
    func create(_ name: String, _ bytes: [UInt8]) throws(ReplicationError) -> CreateOutcome

    /// For names that always get the same bytes. Tried again where that may help.
    func put(_ name: String, _ bytes: [UInt8]) throws(ReplicationError)

    /// The bytes of a name; nil when there is none. Tried again where that may help.
    ///
    /// - Throws: ``ReplicationError/damaged(name:why:)`` where there are more than `byteCountMax`.
    func get(_ name: String, byteCountMax: Int) throws(ReplicationError) -> [UInt8]?

    /// Names that begin with a text, in order, after one of them: at most about 1,000, and none at the end.
    func list(_ prefix: String, after name: String) throws(ReplicationError) -> [String]

    /// Waits a moment, longer with each attempt, before what was tried is tried again.
    func pause(beforeRetrying attempt: Int) throws(ReplicationError)

    func delete(_ name: String) throws(ReplicationError)

    /// Calls `body` with each number below `count`, and with the client that it may use: several at the same
    /// time, where there are connections for that. Returns when all have returned.
    ///
    /// - Throws: one of the errors of `body`. It is not called again then.
    func forEach(_ count: Int, _ body: @Sendable (Int, any Bucket) throws -> Void) throws
}

extension Bucket {
    package func forEach(_ count: Int, _ body: @Sendable (Int, any Bucket) throws -> Void) throws {
        for index in 0..<count { try body(index, self) }
    }

    /// All names that begin with a text, in order. A request for each 1,000.
    ///
    /// - Parameters:
    ///   - end: names from here on may be left out; nil: none are.
    ///   - grows: whether it ends with a page that is shorter than the one before: names may be added more quickly than
    ///     they are listed.
    /// - Throws: also where a page does not move on: such a listing would never end.
    package func names(
        _ prefix: String, after name: String = "", upTo end: String? = nil, grows: Bool = false
    ) throws(ReplicationError) -> [String] {
        var all: [String] = []
        var (last, count) = (name, 0)
        while end.map({ last < $0 }) != false {
            let page = try list(prefix, after: last)
            guard let next = page.last else { break }
            guard last.utf8.lexicographicallyPrecedes(next.utf8) else {
                throw .bucket("list \(prefix): the page after \(last) ends with \(next)")
            }
            all += page
            last = next
            if grows, page.count < count { break }
            count = page.count
        }
        return all
    }
}

enum OwnCreation {
    case done
    /// It may be there or not: try again with the same bytes.
    case unknown(String)
    case other([UInt8])
}

extension Bucket {
    /// Creates a name, once. Where something is there it is read: it may be what an earlier attempt created,
    /// whose answer was lost.
    func createOwn(
        _ name: String, _ bytes: [UInt8], byteCountMax: Int
    ) throws(ReplicationError) -> OwnCreation {
        switch try create(name, bytes) {
        case .created: return .done
        case .unknown(let why): return .unknown(why)
        case .exists: break
        }
        guard let found = try get(name, byteCountMax: byteCountMax) else {
            return .unknown("\(name) existed, but is gone")
        }
        return found == bytes ? .done : .other(found)
    }

    /// Creates a name, as often as it takes until it is known what is there.
    ///
    /// - Returns: what is there instead; nil: these bytes are.
    package func createUntilKnown(
        _ name: String, _ bytes: [UInt8], byteCountMax: Int, attemptCountMax: Int = .max
    ) throws(ReplicationError) -> [UInt8]? {
        var attempt = 0
        while true {
            switch try createOwn(name, bytes, byteCountMax: byteCountMax) {
            case .done: return nil
            case .other(let found): return found
            case .unknown(let why):
                guard attempt < attemptCountMax - 1 else { throw .bucket(why) }
                try pause(beforeRetrying: attempt)
                attempt += 1
            }
        }
    }
}

extension Bucket {
    /// Reads an object; nil where it is not there. One request.
    ///
    /// - Throws: ``ReplicationError/damaged(name:why:)`` with what `parse` finds wrong.
    func read<Value>(
        _ name: String, byteCountMax: Int = ReplicationLimits.documentByteCountMax,
        _ parse: ([UInt8]) throws(DamagedObject) -> Value
    ) throws(ReplicationError) -> Value? {
        guard let bytes = try get(name, byteCountMax: byteCountMax) else { return nil }
        do throws(DamagedObject) { return try parse(bytes) } catch {
            throw .damaged(name: name, why: error.description)
        }
    }

    func readExisting<Value>(
        _ name: String, byteCountMax: Int = ReplicationLimits.documentByteCountMax,
        absence: String = "is missing", _ parse: ([UInt8]) throws(DamagedObject) -> Value
    ) throws(ReplicationError) -> Value {
        guard let value = try read(name, byteCountMax: byteCountMax, parse) else {
            throw .damaged(name: name, why: absence)
        }
        return value
    }
}
