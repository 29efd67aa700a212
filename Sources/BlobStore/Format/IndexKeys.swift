internal import Bytes
internal import Hashing

/// Keys of the index (LMDB table `expiry`), which `docs/FORMAT.md` draws. Owners have no control characters, so the
/// byte 00 after one ends it. The longest key has 395 bytes; LMDB takes 511.
enum IndexKeys {
    /// The first byte of times: the years until 9999 leave the first two bytes 00.
    static let timesPrefix: UInt8 = 0
    static let ownersPrefix: UInt8 = 1
    static let categoriesPrefix: UInt8 = 2
    /// The first byte of the keys of edits of categories that owners are yet to be told of.
    static let categoryEditsPrefix: UInt8 = 3

    /// The first byte of the keys of blobs that others with the same bytes have taken the place of.
    static let quarantinePrefix: UInt8 = 4
    /// The first byte of the keys of batches that wait to be shipped.
    static let outboxPrefix: UInt8 = 5
    /// The first byte of the keys of blobs of several chunks that nothing refers to any more.
    static let retiredPrefix: UInt8 = 6

    /// Where what ends stands in the key of a time.
    static let timeByteCount = 8
    /// Bytes of an id's hash in a finder's key.
    static let finderHashByteCount = 16

    /// An owner's keys of one kind begin with this.
    ///
    /// - Parameter memory: what is there is replaced, in its memory where that is enough. Here and below.
    static func prefix(
        _ kind: OwnerKey.Kind, _ owner: RawSpan, in memory: consuming [UInt8] = []
    ) -> [UInt8] {
        memory.removeAll(keepingCapacity: true)
        // With room for what follows in most of them.
        memory.append(addingCapacity: owner.byteCount + 3 + finderHashByteCount) { room in
            room.append(ownersPrefix)
            room.append(owner)
            room.append(0)
            room.append(kind.rawValue)
        }
        return memory
    }

    /// A group's members begin with this.
    static func groupPrefix(_ owner: RawSpan, _ group: String) -> [UInt8] {
        var key = prefix(.group, owner)
        key.append(contentsOf: group.utf8)
        key.append(0)
        return key
    }

    /// A key that ends with numbers.
    private static func key(_ prefix: [UInt8], _ numbers: UInt64...) -> [UInt8] {
        var key = prefix
        for number in numbers { key.append(bigEndian: number) }
        return key
    }

    /// A place in an owner's history, in the feed, or both.
    static func sequence(
        _ owner: String, _ revision: UInt64, in memory: consuming [UInt8] = []
    ) -> [UInt8] {
        var key = prefix(.sequence, owner.utf8.span.bytes, in: memory)
        key.append(bigEndian: revision)
        return key
    }

    /// A member of a group, by its place in the history.
    static func group(_ owner: String, _ group: String, _ sequence: UInt64) -> [UInt8] {
        key(groupPrefix(owner.utf8.span.bytes, group), sequence)
    }

    /// What finds the tombstone of an id in an app's feed. By a hash: owner and id would be too long for a key.
    static func finder(_ owner: String, id: String, app: String? = nil) -> [UInt8] {
        var key = prefix(.finder, owner.utf8.span.bytes)
        let hash = hash(id, app: app)
        key.append(contentsOf: hash.span.bytes.extracting(first: finderHashByteCount))
        return key
    }

    /// What finds the line that tells an owner of a category's edit: never that of a tombstone, since ids have no
    /// control characters.
    static func finder(_ owner: String, category: String, app: String?) -> [UInt8] {
        finder(owner, id: "\u{0}" + category, app: app)
    }

    /// The first 16 bytes of the SHA-256 of an id, or of an id, 00 and an app.
    static func finderHash(_ id: String, app: String? = nil) -> [UInt8] {
        hash(id, app: app).span.bytes.extracting(first: finderHashByteCount).array()
    }

    private static func hash(_ id: String, app: String?) -> InlineArray<32, UInt8> {
        guard let app else { return SHA256.digest(of: id.utf8.span.bytes) }
        return SHA256.digest(of: text(id, app).span.bytes)
    }

    private static func text(_ name: String, _ app: String?) -> [UInt8] {
        app.map { Array(name.utf8) + [0] + Array($0.utf8) } ?? Array(name.utf8)
    }

    static func mark(_ owner: String) -> [UInt8] { prefix(.mark, owner.utf8.span.bytes) }

    static func usage(_ owner: String, in memory: consuming [UInt8] = []) -> [UInt8] {
        prefix(.usage, owner.utf8.span.bytes, in: memory)
    }

    /// A category, whose name is at most 64 bytes long, of all apps or of one.
    static func category(_ name: String, app: String? = nil) -> [UInt8] {
        [categoriesPrefix] + text(name, app)
    }

    /// The category's key with another first byte.
    static func categoryEdit(_ name: String, app: String? = nil) -> [UInt8] {
        var key = category(name, app: app)
        key[0] = categoryEditsPrefix
        return key
    }

    static func quarantine(_ number: UInt64) -> [UInt8] { key([quarantinePrefix], number) }

    static func outbox(_ sequence: UInt64) -> [UInt8] { key([outboxPrefix], sequence) }

    /// The number at the end of a key of nine bytes.
    static func number(_ key: RawSpan) -> UInt64? {
        key.byteCount == 9 ? UInt64(bigEndian: key.word(1)) : nil
    }

    /// A blob of several chunks, by the batch that dropped its last reference.
    static func retired(_ sequence: UInt64, _ number: UInt64) -> [UInt8] {
        key([retiredPrefix], sequence, number)
    }

    static func retired(
        _ key: RawSpan
    ) throws(StoreError) -> (sequence: UInt64, number: UInt64) {
        guard key.byteCount == 17, key.byte(0) == retiredPrefix else {
            throw .corrupt("a key of a retired blob in the index")
        }
        return (UInt64(bigEndian: key.word(1)), UInt64(bigEndian: key.word(9)))
    }

    /// When a tombstone's retention ends. Moments of the years 1970 to 9999, here and below.
    static func tombstoneEnd(_ end: Timestamp, _ owner: String, _ revision: UInt64) -> [UInt8] {
        var key = time(end, .tombstone)
        key.append(contentsOf: owner.utf8)
        key.append(0)
        key.append(bigEndian: revision)
        return key
    }

    static func holdEnd(_ end: Timestamp, _ digest: Digest) -> [UInt8] {
        var key = time(end, .hold)
        key.append(contentsOf: digest.rawWords.span.bytes)
        return key
    }

    static func markEnd(_ end: Timestamp, _ owner: String) -> [UInt8] {
        var key = time(end, .mark)
        key.append(contentsOf: owner.utf8)
        return key
    }

    private static func time(_ end: Timestamp, _ kind: TimeEntry.Kind) -> [UInt8] {
        key([], UInt64(bitPattern: end.milliseconds)) + [0, kind.rawValue]
    }
}

/// A key of the index that belongs to an owner, taken apart.
enum OwnerKey: Equatable {
    /// The byte after the owner.
    enum Kind: UInt8 {
        case sequence = 1
        case group = 2
        case finder = 3
        case mark = 4
        case usage = 5
    }

    case sequence(owner: String, revision: UInt64)
    case group(owner: String, group: String, sequence: UInt64)
    case finder(owner: String, hash: [UInt8])
    case mark(owner: String)
    case usage(owner: String)

    init(_ key: RawSpan) throws(StoreError) {
        let damaged = StoreError.corrupt("a key of an owner in the index")
        guard key.byteCount > 0, key.byte(0) == IndexKeys.ownersPrefix else { throw damaged }
        var end = 1
        while end < key.byteCount, key.byte(end) != 0 { end += 1 }
        guard end + 1 < key.byteCount, let kind = Kind(rawValue: key.byte(end + 1)) else {
            throw damaged
        }
        let owner = key.extracting(1..<end).text()
        let rest = key.extracting(end + 2..<key.byteCount)
        switch kind {
        case .sequence:
            guard rest.byteCount == 8 else { throw damaged }
            self = .sequence(owner: owner, revision: UInt64(bigEndian: rest.word(0)))
        case .group:
            // The group, 00, and eight bytes.
            let groupEnd = rest.byteCount - 9
            guard groupEnd >= 0, rest.byte(groupEnd) == 0 else { throw damaged }
            self = .group(
                owner: owner, group: rest.extracting(0..<groupEnd).text(),
                sequence: UInt64(bigEndian: rest.word(groupEnd + 1)))
        case .finder:
            guard rest.byteCount == IndexKeys.finderHashByteCount else { throw damaged }
            self = .finder(owner: owner, hash: rest.array())
        case .mark:
            guard rest.isEmpty else { throw damaged }
            self = .mark(owner: owner)
        case .usage:
            guard rest.isEmpty else { throw damaged }
            self = .usage(owner: owner)
        }
    }
}
