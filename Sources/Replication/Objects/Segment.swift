package import BlobStore
internal import Bytes
internal import Hashing
internal import Synchronization

/// One name of the log: batches that follow one another, or a mark of who leads.
///
///     0    "blobdseg"
///     8    version, 4 bytes: 1
///     12   kind: 0 batches, 1 fence, 2 end of an epoch
///     13   reserved, 3 bytes
///     16   store id, 16 bytes
///     32   epoch: 1 for the first fence, and the next number for each one after it
///     40   number: the one in its name
///     48   nonce of the run that wrote it, 16 bytes
///     64   SHA-256 of the segment before it; zeros before the first
///     96   sequence of the last batch after this segment
///     104  batches, 4 bytes
///     108  reserved, 4 bytes
///     112  when it was written, by its writer's clock
///     120  bytes of the body
///     128  body: each batch, and after it the stored bytes of the blobs that are shipped with it
///     …    SHA-256 of all before
///
/// Integers are little-endian. The SHA-256 at the end is what the segment after it names.
package struct Segment: Sendable {
    package enum Kind: UInt8, Sendable {
        /// It has batches; none where it only shows that its leader leads.
        case batches = 0
        /// A new leader begins here. What the leader before writes cannot come after it.
        case fence = 1
        /// The leader has shipped everything and leads no more.
        case end = 2
    }

    package struct Head: Sendable, Hashable {
        package var kind: Kind
        package var storeID: StoreID
        package var epoch: UInt64
        package var nonce: Nonce
        package var previous: LogPosition
        package var sequence: UInt64
        package var time: Timestamp

        package var number: UInt64 { previous.number + 1 }
    }

    package typealias Item = (batch: ReplicatedBatch, contents: [ArraySlice<UInt8>])

    package let head: Head
    package let items: [Item]
    package let position: LogPosition
    package let bytes: [UInt8]

    static let magic = Array("blobdseg".utf8)
    static let version: UInt32 = 1
    static let headByteCount = 128
    private static let digestByteCount = 32
    /// Bytes of one without batches: each fence has so many.
    static let emptyByteCount = headByteCount + digestByteCount

    /// Batches, and the stored bytes that are shipped with them. The objects of long blobs are in the bucket: what
    /// a segment names is there before it.
    package static func items(
        of batches: [ReplicatedBatch], bytes: (BlobReference) throws -> [UInt8]
    ) throws -> [Item] {
        try batches.map { batch in
            (batch, try batch.shippedBlobs.map { try bytes($0)[...] })
        }
    }

    package init(_ head: Head, _ items: [Item] = []) {
        var bytes = Self.magic
        bytes.append(littleEndian: Self.version)
        bytes.append(head.kind.rawValue)
        bytes.appendZeros(3)
        head.storeID.append(to: &bytes)
        bytes.append(littleEndian: head.epoch)
        bytes.append(littleEndian: head.number)
        bytes.append(littleEndian: head.nonce.high)
        bytes.append(littleEndian: head.nonce.low)
        bytes.append(contentsOf: head.previous.hash.rawWords.span.bytes)
        bytes.append(littleEndian: head.sequence)
        bytes.append(littleEndian: UInt32(items.count))
        bytes.appendZeros(4)
        bytes.append(littleEndian: head.time.milliseconds)
        let bodyByteCount = items.reduce(0) { $0 + $1.batch.shippedByteCount }
        bytes.append(littleEndian: UInt64(bodyByteCount))
        bytes.reserveCapacity(bytes.count + bodyByteCount + Self.digestByteCount)
        for item in items {
            bytes += item.batch.bytes
            for content in item.contents { bytes += content }
        }
        let hash = SHA256.digest(of: bytes.span.bytes)
        bytes.append(contentsOf: hash.span.bytes)
        self.head = head
        self.items = items
        self.bytes = bytes
        position = LogPosition(number: head.number, hash: Digest(hash))
    }

    package init(_ bytes: [UInt8]) throws(DamagedObject) {
        let span = bytes.span.bytes
        guard bytes.count >= Self.headByteCount + Self.digestByteCount,
            span.extracting(first: 8).equals(Self.magic.span.bytes)
        else { throw DamagedObject("is not a segment") }
        let version = span.integer(8, as: UInt32.self)
        guard version == Self.version else {
            throw DamagedObject(
                "has format version \(version), but this program reads only version \(Self.version): upgrade blobd"
            )
        }
        let end = bytes.count - Self.digestByteCount
        let hash = SHA256.digest(of: span.extracting(first: end))
        guard span.extracting(last: Self.digestByteCount).equals(hash.span.bytes) else {
            throw DamagedObject("fails its SHA-256")
        }
        guard let kind = Kind(rawValue: span.byte(12)),
            span.integer(120, as: UInt64.self) == UInt64(end - Self.headByteCount)
        else { throw DamagedObject("has an unknown kind or a wrong length") }
        let number = span.integer(40, as: UInt64.self)
        guard number > 0 else { throw DamagedObject("has the number 0") }
        head = Head(
            kind: kind, storeID: StoreID(bytes: span.extracting(16..<32)),
            epoch: span.integer(32),
            nonce: Nonce(high: span.integer(48), low: span.integer(56)),
            previous: LogPosition(number: number - 1, hash: Digest(span, at: 64)),
            sequence: span.integer(96), time: Timestamp(milliseconds: span.integer(112)))
        self.bytes = bytes
        position = LogPosition(number: number, hash: Digest(hash))
        items = try Self.items(
            of: bytes, upTo: end, count: Int(span.integer(104, as: UInt32.self)))
        guard items.isEmpty || items.last?.batch.sequence == head.sequence else {
            throw DamagedObject("contains other batches than its head declares")
        }
    }

    private static func items(
        of bytes: [UInt8], upTo end: Int, count: Int
    ) throws(DamagedObject) -> [Item] {
        var items: [Item] = []
        var offset = headByteCount
        while offset < end {
            guard end - offset >= 4 else { throw DamagedObject("ends inside a batch") }
            let byteCount = Int(bytes.span.bytes.integer(offset, as: UInt32.self))
            guard byteCount <= end - offset else { throw DamagedObject("ends inside a batch") }
            guard let batch = try? ReplicatedBatch(Array(bytes[offset..<offset + byteCount])) else {
                throw DamagedObject("contains an invalid batch")
            }
            offset += byteCount
            var contents: [ArraySlice<UInt8>] = []
            for blob in batch.shippedBlobs {
                guard blob.storedByteCount <= end - offset else {
                    throw DamagedObject("ends inside a payload")
                }
                contents.append(bytes[offset..<offset + blob.storedByteCount])
                offset += blob.storedByteCount
            }
            items.append((batch, contents))
        }
        guard items.count == count else {
            throw DamagedObject("contains other batches than its head declares")
        }
        return items
    }
}

extension Segment {
    package static func read(
        _ number: UInt64, on bucket: some Bucket,
        byteCountMax: Int = ReplicationLimits.segmentByteCountMax
    ) throws(ReplicationError) -> Segment? {
        try bucket.read(ShardNames.log(number), byteCountMax: byteCountMax) {
            (bytes) throws(DamagedObject) in
            let segment = try Segment(bytes)
            guard segment.head.number == number else {
                throw DamagedObject("contains segment \(segment.head.number)")
            }
            return segment
        }
    }

    /// What is under several names: the first or its error, and those after it up to one that is wrong, or longer than its
    /// part of ``ReplicationLimits/readAheadByteCount``. A request for each, several at the same time.
    static func read(
        _ numbers: Range<UInt64>, on bucket: some Bucket
    ) throws(ReplicationError) -> ArraySlice<Result<Segment?, ReplicationError>> {
        let otherByteCountMax = ReplicationLimits.readAheadByteCount / numbers.count
        let found = Mutex(
            [Result<Segment?, ReplicationError>](
                repeating: .success(nil), count: numbers.count))
        do {
            try bucket.forEach(numbers.count) { index, bucket in
                let number = numbers.lowerBound + UInt64(index)
                let result = Result { () throws(ReplicationError) in
                    try read(
                        number, on: bucket,
                        byteCountMax: index == 0
                            ? ReplicationLimits.segmentByteCountMax : otherByteCountMax)
                }
                found.withLock { $0[index] = result }
            }
        } catch { throw error as? ReplicationError ?? .bucket("\(error)") }
        let results = found.withLock { $0 }
        return results.prefix(1)
            + results.dropFirst().prefix { if case .success = $0 { true } else { false } }
    }

    /// - Throws: ``ReplicationError/damaged(name:why:)`` for one of another store,
    ///   ``ReplicationError/forked(number:)`` for one that is after another segment.
    package func require(
        of storeID: StoreID, after position: LogPosition
    ) throws(ReplicationError) {
        try head.require(of: storeID)
        guard head.previous == position else { throw .forked(number: head.number) }
    }
}

extension Segment.Head {
    package func require(of storeID: StoreID) throws(ReplicationError) {
        guard self.storeID == storeID else {
            throw .foreign(
                ShardNames.log(number), of: self.storeID.description, in: storeID.description)
        }
    }
}
