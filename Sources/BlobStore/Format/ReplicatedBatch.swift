internal import Bytes
internal import LMDB

/// What one batch of changes did to the tables, in the form in which it waits to be shipped and is
/// shipped (`docs/FORMAT.md`, "Replication").
///
/// It has the puts and deletes that are the same on every host, and which blobs were stored. What belongs
/// to one host is left out: chunks, the freeing of orphans, the write-ahead log.
package struct ReplicatedBatch: Sendable {
    /// All its bytes.
    package let bytes: [UInt8]
    /// Its number: 1 more than that of the batch before.
    package let sequence: UInt64
    /// When it was done, by the leader's clock.
    package let time: Timestamp
    /// The store's last revision behind it.
    package let revision: UInt64
    /// Blobs that it stored.
    package let blobs: [BlobReference]
    private let operationByteCount: Int

    static let headByteCount = 40
    static let blobByteCount = 64

    /// Reads a batch.
    ///
    /// - Throws: ``StoreError/corrupt(_:)`` when the lengths do not fit.
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
        for index in 0..<blobCount {
            let start = Self.headByteCount + operationByteCount + index * Self.blobByteCount
            let (byteCount, storedByteCount) = (
                span.integer(start + 40, as: UInt64.self), span.integer(start + 48, as: UInt64.self)
            )
            guard let coding = Coding(rawValue: span.byte(start + 56)),
                byteCount <= StoreLimits.payloadByteCountMax,
                storedByteCount <= StoreLimits.payloadByteCountMax,
                coding != .identity || byteCount == storedByteCount,
                span.integer(start + 32, as: UInt64.self) <= StoreLimits.counterMax
            else { throw damaged }
            blobs.append(
                BlobReference(
                    digest: Digest(span, at: start), number: span.integer(start + 32),
                    byteCount: Int(byteCount), storedByteCount: Int(storedByteCount),
                    coding: coding))
        }
        self.blobs = blobs
        self.bytes = bytes
    }

    /// The puts and deletes, for an `OperationReader`.
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
}

/// Makes a batch out of what a transaction did.
struct ReplicatedBatchWriter {
    private var bytes = [UInt8](repeating: 0, count: ReplicatedBatch.headByteCount)
    private(set) var isEmpty = true

    /// Adds those of the operations that are the same on every host.
    mutating func append(_ operations: RawSpan, of tables: Tables) throws(StoreError) {
        var reader = OperationReader(operations)
        while let operation = reader.next() {
            guard try Self.isShipped(operation, tables) else { continue }
            append(operation)
            isEmpty = false
        }
    }

    /// Adds an operation.
    private mutating func append(_ operation: borrowing OperationReader.Operation) {
        bytes.append(operation.isPut ? 1 : 2)
        bytes.append(UInt8(operation.table))
        bytes.append(littleEndian: UInt16(operation.key.byteCount))
        bytes.append(littleEndian: UInt32(operation.value.byteCount))
        bytes.append(contentsOf: operation.key)
        bytes.append(contentsOf: operation.value)
    }

    private static func isShipped(
        _ operation: borrowing OperationReader.Operation, _ tables: Tables
    ) throws(StoreError) -> Bool {
        switch UInt8(operation.table) {
        case tables.notifications.number, tables.blobs.number: return true
        case tables.index.number: return operation.key.byte(0) != IndexKeys.outboxPrefix
        case tables.orphans.number:
            guard operation.isPut else { return false }
            let number = UInt64(bigEndian: operation.key.word(0))
            return try OrphanEntry(operation.value, number: number).state == .released
        case tables.meta.number: return operation.key.equals(EpochList.name.utf8.span.bytes)
        default: return false
        }
    }

    /// The batch.
    ///
    /// - Parameter counters: behind it; those of orphans are left out.
    mutating func finish(
        sequence: UInt64, asOf now: Timestamp, _ counters: Counters, in meta: Table,
        storing blobs: [BlobReference]
    ) -> [UInt8] {
        var shipped = counters
        shipped.orphanBlobs = 0
        shipped.orphanBytes = 0
        let words = shipped.words
        bytes.append(1)
        bytes.append(meta.number)
        bytes.append(littleEndian: UInt16(Counters.name.utf8.count))
        bytes.append(littleEndian: UInt32(Counters.byteCount))
        bytes.append(text: Counters.name)
        bytes.append(contentsOf: words.span.bytes)
        let operationByteCount = bytes.count - ReplicatedBatch.headByteCount
        for blob in blobs {
            bytes.append(contentsOf: blob.digest.rawWords.span.bytes)
            bytes.append(littleEndian: blob.number)
            bytes.append(littleEndian: UInt64(blob.byteCount))
            bytes.append(littleEndian: UInt64(blob.storedByteCount))
            bytes.append(blob.coding.rawValue)
            bytes.appendZeros(7)
        }
        var head: [UInt8] = []
        head.append(littleEndian: UInt32(bytes.count))
        head.appendZeros(4)
        head.append(littleEndian: sequence)
        head.append(littleEndian: now.milliseconds)
        head.append(littleEndian: counters.revision)
        head.append(littleEndian: UInt32(operationByteCount))
        head.append(littleEndian: UInt32(blobs.count))
        bytes.replaceSubrange(0..<ReplicatedBatch.headByteCount, with: head)
        return bytes
    }
}
