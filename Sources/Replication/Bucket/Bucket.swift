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

    /// Objects whose names begin with a text, in order, after one of them: at most about 1,000, and at least one unless
    /// there are no more. A page may be short and not the last.
    func list(_ prefix: String, after name: String) throws(ReplicationError) -> ListPage

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
    package func names(
        _ prefix: String, after name: String = ""
    ) throws(ReplicationError) -> [String] {
        try objects(prefix, after: name).map(\.name)
    }

    /// All objects whose names begin with a text, in order. A request for each 1,000.
    ///
    /// - Parameter end: names from here on may be left out; nil: none are.
    /// - Throws: also where a page does not move on: such a listing would never end.
    package func objects(
        _ prefix: String, after name: String = "", upTo end: String? = nil
    ) throws(ReplicationError) -> [ListPage.Object] {
        var all: [ListPage.Object] = []
        var last = name
        while end.map({ last < $0 }) != false {
            let page = try list(prefix, after: last)
            guard let next = page.objects.last?.name else { break }
            guard last.utf8.lexicographicallyPrecedes(next.utf8) else {
                throw .bucket("list \(prefix): the page after \(last) ends with \(next)")
            }
            all += page.objects
            last = next
            if page.isLast { break }
        }
        return all
    }
}

extension Bucket {
    /// Deletes names, and steps over one that cannot be deleted now: a later look finds it again.
    ///
    /// - Parameters:
    ///   - groups: the names of one thing each. Where the first cannot be deleted, the others of its group stay.
    ///   - failure: gets the first error that was stepped over, unless it has one.
    /// - Returns: those that were deleted.
    /// - Throws: where several in a row cannot be deleted: the bucket is away, or does not allow it.
    func delete(
        _ groups: some Sequence<[String]>, noting failure: inout (any Error)?
    ) throws(ReplicationError) -> [String] {
        var (deleted, failureCount) = ([String](), 0)
        for group in groups {
            for name in group {
                do throws(ReplicationError) {
                    try delete(name)
                    deleted.append(name)
                    failureCount = 0
                } catch {
                    failureCount += 1
                    guard error != .stopped, failureCount < ReplicationLimits.undeletedCountMax
                    else { throw error }
                    failure = failure ?? error
                    if name == group.first { break }
                }
            }
        }
        return deleted
    }
}

/// Some objects of a bucket, in the order of their names.
package struct ListPage: Sendable {
    package struct Object: Sendable {
        package let name: String
        package let byteCount: Int

        package init(name: String, byteCount: Int) {
            self.name = name
            self.byteCount = byteCount
        }
    }

    package let objects: [Object]
    /// Whether no more came after them when they were listed.
    package let isLast: Bool

    package init(_ objects: [Object], isLast: Bool) {
        self.objects = objects
        self.isLast = isLast
    }

    var names: [String] { objects.map(\.name) }
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
