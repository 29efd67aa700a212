import Bytes
import LMDB
import Synchronization
import Testing

@testable import BlobStore

/// What a lookup answers, as a value that can be compared.
enum Found: Equatable {
    case found
    case expired
    case missing
}

extension BlobStore {
    func lookUp(_ id: String, part: String = "", asOf now: Timestamp = noon) throws -> Found {
        let id = Array(id.utf8)
        let part = Array(part.utf8)
        let snapshot = try makeSnapshot()
        switch try snapshot.payload(for: id.span.bytes, part: part.span.bytes, asOf: now) {
        case .found: return .found
        case .expired: return .expired
        case .missing: return .missing
        }
    }

    func lookUp(_ digest: Digest, asOf now: Timestamp = noon) throws -> Found {
        let snapshot = try makeSnapshot()
        switch try snapshot.blob(digest, asOf: now) {
        case .found: return .found
        case .expired: return .expired
        case .missing: return .missing
        }
    }

    /// As of the last commit.
    func counters() throws -> Counters {
        try core.withSnapshot { (snapshot) throws(StoreError) in try snapshot.counters() }
    }

    /// All that a table has, as of the last commit.
    func entries(of table: Table) throws -> [(key: [UInt8], value: [UInt8])] {
        try withSnapshot { (snapshot) throws(StoreError) in
            var entries: [(key: [UInt8], value: [UInt8])] = []
            var cursor = TableCursor(try snapshot.transaction.cursor(in: table))
            var isThere = try cursor.go(.first)
            while isThere {
                entries.append((cursor.key.array(), cursor.value.array()))
                isThere = try cursor.go(.next)
            }
            return entries
        }
    }

    /// Changes an entry behind the store's back; nil removes it.
    func overwrite(_ key: [UInt8], in table: Table, with value: [UInt8]?) throws {
        var transaction = try core.environment.beginWrite()
        if let value {
            try transaction.put(value.span.bytes, forKey: key.span.bytes, in: table)
        } else {
            try transaction.delete(key.span.bytes, in: table)
        }
        try transaction.commit()
    }

    /// Ends every orphan that can be ended.
    func freeAll() throws {
        while try freeOrphans(byteCountMax: 64 << 20).more {}
    }

    func publication(
        _ id: String?, _ bytes: [UInt8], part: String = "payload", owner: String? = nil,
        message: String? = nil, richType: String? = nil, mediaType: String = "image/png",
        expiry: Expiry = .at(noon.adding(seconds: 3_600))
    ) throws -> Publication {
        Publication(
            id: id, part: part, payload: try prepare(bytes, mediaType: mediaType), owner: owner,
            message: message, richType: richType, expiry: expiry)
    }
}

extension Outcome {
    var isDone: Bool {
        switch self {
        case .published, .deleted, .changed, .unchanged, .held, .categorySet: true
        case .notFound, .refused: false
        }
    }

    var error: StoreError? {
        if case .refused(let error) = self { error } else { nil }
    }

    var record: Record? {
        switch self {
        case .published(let record, _), .changed(let record), .unchanged(let record): record
        default: nil
        }
    }
}

extension StoreError {
    var isFull: Bool { if case .full = self { true } else { false } }
    var isCorrupt: Bool { if case .corrupt = self { true } else { false } }
    var isQuota: Bool { if case .quotaExceeded = self { true } else { false } }
    var isResync: Bool { if case .resync = self { true } else { false } }
    var field: InvalidInput.Field? {
        if case .invalid(let input) = self { input.field } else { nil }
    }
    var openReason: String? {
        switch self {
        case .cannotOpen(_, let reason), .damaged(_, let reason): reason
        default: nil
        }
    }
}

/// The error `body` throws.
func failure(_ body: () throws -> Void) throws -> StoreError {
    do {
        try body()
    } catch let error as StoreError {
        return error
    }
    throw NothingThrown()
}

struct NothingThrown: Error {}

/// Counts wake-ups, from any thread.
final class Bell: Sendable {
    private let count = Atomic(0)
    var rings: Int { count.load(ordering: .sequentiallyConsistent) }
    func ring() { count.add(1, ordering: .sequentiallyConsistent) }
}
