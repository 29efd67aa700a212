internal import Bytes

/// What one batch of changes did to the tables, in the form in which it is shipped (`docs/FORMAT.md`,
/// "Replication"): the puts and deletes that are the same on every host, and which blobs were stored.
package struct ReplicatedBatch: Sendable {
    package let bytes: [UInt8]
    /// Its number: 1 more than that of the batch before.
    package let sequence: UInt64
    /// When it was done, by the leader's clock.
    package let time: Timestamp
    /// The store's last revision after it.
    package let revision: UInt64
    package let blobs: [BlobReference]
    /// Numbers of those that are shipped without their bytes: the leader's were damaged before it shipped them.
    package let absent: Set<UInt64>
    private let operationByteCount: Int

    static let headByteCount = 40
    static let blobByteCount = 64
    /// Where in a blob's bytes is whether it is shipped without its bytes.
    private static let absentOffset = 57

    /// Reads a batch.
    package init(_ bytes: [UInt8]) throws(StoreError) {
        let span = bytes.span.bytes
        let damaged = StoreError.corrupt("a replicated batch")
        guard bytes.count >= Self.headByteCount,
            Int(span.integer(0, as: UInt32.self)) == bytes.count
        else { throw damaged }
        operationByteCount = Int(span.integer(32, as: UInt32.self))
        let blobCount = Int(span.integer(36, as: UInt32.self))
        guard
            bytes.count == Self.headByteCount + operationByteCount + blobCount * Self.blobByteCount
        else { throw damaged }
        sequence = span.integer(8)
        time = Timestamp(milliseconds: span.integer(16))
        revision = span.integer(24)
        guard sequence <= StoreLimits.counterMax, revision <= StoreLimits.counterMax else {
            throw damaged
        }
        var blobs: [BlobReference] = []
        var absent: Set<UInt64> = []
        for index in 0..<blobCount {
            let start = Self.headByteCount + operationByteCount + index * Self.blobByteCount
            let blob = BlobReference(
                Digest(span, at: start), number: span.integer(start + 32),
                byteCount: span.integer(start + 40), storedByteCount: span.integer(start + 48),
                coding: span.byte(start + 56))
            guard let blob, blob.number <= StoreLimits.counterMax else { throw damaged }
            if span.byte(start + Self.absentOffset) & 1 != 0 { absent.insert(blob.number) }
            blobs.append(blob)
        }
        self.blobs = blobs
        self.absent = absent
        self.bytes = bytes
    }

    /// This batch, to be shipped without the bytes of a blob; nil where it did not store that.
    package func marking(absent number: UInt64) -> ReplicatedBatch? {
        guard let index = blobs.firstIndex(where: { $0.number == number }) else { return nil }
        var bytes = bytes
        bytes[absentOffset(ofBlob: index)] |= 1
        return try? ReplicatedBatch(bytes)
    }

    /// Whether some bytes are of this batch, whatever either says of blobs that are shipped without their bytes.
    package func isSame(as other: [UInt8]) -> Bool {
        guard other.count == bytes.count else { return false }
        var (own, other) = (bytes, other)
        for index in blobs.indices {
            own[absentOffset(ofBlob: index)] = 0
            other[absentOffset(ofBlob: index)] = 0
        }
        return own == other
    }

    private func absentOffset(ofBlob index: Int) -> Int {
        Self.headByteCount + operationByteCount + index * Self.blobByteCount + Self.absentOffset
    }

    package var shippedBlobs: [BlobReference] {
        blobs.filter { $0.isShippedWithBatch && !absent.contains($0.number) }
    }

    /// Blobs whose bytes are objects of their own.
    package var longBlobs: [BlobReference] {
        blobs.filter { !$0.isShippedWithBatch && !absent.contains($0.number) }
    }

    /// The puts and deletes, as a transaction notes them.
    var operations: RawSpan {
        @_lifetime(borrow self)
        borrowing get {
            let all = bytes.span.bytes.extracting(droppingFirst: Self.headByteCount)
            return _overrideLifetime(all.extracting(first: operationByteCount), borrowing: self)
        }
    }
}

extension BlobReference {
    /// Whether its bytes are shipped with the batch that stored it. A longer one is an object of its own.
    package var isShippedWithBatch: Bool { storedByteCount <= StoreLimits.chunkByteCountMax }

    /// Whether a host may have its record without its bytes.
    package var isEvictable: Bool {
        !isShippedWithBatch && chunkCount <= StoreLimits.evictableChunkCountMax
    }
}
