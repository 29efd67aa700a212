internal import Bytes
internal import LMDB

struct ReplicatedBatchWriter {
    private var bytes = [UInt8](repeating: 0, count: ReplicatedBatch.headByteCount)
    private(set) var isEmpty = true

    /// Adds those of the operations that are the same on every host.
    mutating func append(_ operations: RawSpan, of tables: Tables) throws(StoreError) {
        var reader = OperationReader(operations)
        while let operation = reader.next() {
            guard try Self.isShipped(operation, tables) else { continue }
            bytes.append(operation)
            isEmpty = false
        }
    }

    private static func isShipped(
        _ operation: borrowing OperationReader.Operation, _ tables: Tables
    ) throws(StoreError) -> Bool {
        switch UInt8(operation.table) {
        case tables.notifications.number, tables.blobs.number: return true
        case tables.index.number:
            return operation.key.byte(0) != IndexKeys.outboxPrefix
        case tables.orphans.number:
            guard operation.isPut, let key = Keys.state(operation.key) else { return false }
            return try BlobStateEntry(operation.value, number: key.number).state == .released
        case tables.meta.number: return operation.key.equals(EpochList.name.utf8.span.bytes)
        default: return false
        }
    }

    /// The batch. `counters`: after it; those of orphans are left out.
    mutating func finish(
        sequence: UInt64, asOf now: Timestamp, _ counters: Counters, in meta: Table,
        storing blobs: [BlobReference]
    ) -> [UInt8] {
        var shipped = counters
        shipped.orphanBlobs = 0
        shipped.orphanBytes = 0
        let value = shipped.value
        bytes.append(1)
        bytes.append(meta.number)
        bytes.append(littleEndian: UInt16(Counters.name.utf8.count))
        bytes.append(littleEndian: UInt32(Counters.byteCount))
        bytes.append(text: Counters.name)
        bytes += value
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

extension [UInt8] {
    /// Appends an operation, as an ``OperationReader`` reads it.
    mutating func append(_ operation: borrowing OperationReader.Operation) {
        append(operation.isPut ? 1 : 2)
        append(UInt8(operation.table))
        append(littleEndian: UInt16(operation.key.byteCount))
        append(littleEndian: UInt32(operation.value.byteCount))
        append(contentsOf: operation.key)
        append(contentsOf: operation.value)
    }
}
