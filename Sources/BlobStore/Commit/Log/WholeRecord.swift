internal import Bytes
internal import LMDB

/// Makes records of the log whole: long values that are in pages of `data.mdb` are put into the record.
///
/// Replaying a record that refers to pages may write over these pages before it is committed: they are
/// free, as far as `data.mdb` says. So a log is made whole first. A power cut then finds all of it.
struct WholeRecords {
    let core: StoreCore

    /// The record with the values in it. One `pread` for each of them. `record`: a whole one, without the zeros
    /// behind it. Throws ``StoreError/corrupt(_:)`` where a page does not have what was synced before the
    /// record was written.
    func whole(_ record: RawSpan) throws(StoreError) -> [UInt8] {
        guard var head = LogRecord(record, byteCountMax: record.byteCount) else {
            throw .corrupt("a record of the write-ahead log has no head")
        }
        guard head.hasPlaces else { return record.array() }
        var bytes = [UInt8](repeating: 0, count: LogRecord.byteCount)
        var reader = OperationReader(
            record.extracting(droppingFirst: LogRecord.byteCount), hasPlaces: true)
        while let operation = reader.next() {
            if let place = operation.place {
                let value = try value(at: place, operation.key, in: operation.table)
                bytes.append(operation, value.span.bytes)
            } else {
                bytes.append(operation, operation.value)
            }
        }
        guard reader.isAtEnd else {
            throw .corrupt("a record of the write-ahead log ends inside an operation")
        }
        head.hasPlaces = false
        head.operationByteCount = bytes.count - LogRecord.byteCount
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        head.write(into: &target)
        return bytes
    }

    private func value(
        at place: LongValuePlace, _ key: RawSpan, in table: Int
    ) throws(StoreError) -> [UInt8] {
        let byteCountMax = ChunkLayout.alignedPrefixByteCount + ChunkLayout.byteCountMax
        guard table == Int(core.tables.chunks.number), key.byteCount == ChunkKey.byteCount,
            ChunkLayout.alignedPrefixByteCount...byteCountMax ~= place.byteCount,
            let offset = place.offset(pageByteCount: core.environment.pageByteCount)
        else {
            throw .corrupt("a record of the write-ahead log refers to what is no chunk")
        }
        // Where the file is shorter than it was, the checksum shows it.
        var bytes = [UInt8](repeating: 0, count: place.byteCount)
        guard FileBytes.read(core.environment.dataDescriptor, at: offset, into: &bytes) >= 0 else {
            throw .system("read \(DataFile.name)")
        }
        let value = bytes.span.bytes
        let byteCount = ChunkLayout.byteCount(ofValue: value.byteCount)
        guard Chunk.isWhole(value, key: key, byteCount: byteCount) else {
            let (number, index) = ChunkKey.numbers(key)
            throw .corrupt(
                "chunk \(index) of blob \(number), to which \(WriteAheadLog.fileName) refers, failed its checksum"
            )
        }
        return bytes
    }
}
