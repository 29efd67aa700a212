internal import Bytes
internal import LMDB

extension WriteTransaction {
    /// Stores one chunk of a blob.
    ///
    /// - Parameter bytes: of the whole blob, as stored.
    mutating func putChunk(
        of blob: BlobReference, at index: Int, _ bytes: [UInt8], in table: Table
    ) throws(StoreError) {
        let byteCount = ChunkLayout.byteCount(at: index, of: blob.storedByteCount)
        let start = ChunkLayout.start(of: index, in: blob.storedByteCount)
        let chunk = bytes.span.bytes.extracting(start..<start + byteCount)
        let key = Keys.chunk(blob.number, index)
        var prefix = InlineArray<12, UInt32>(repeating: 0)
        prefix[0] = Checksum(key: key.bytes, chunk).value.littleEndian
        let prefixByteCount = ChunkLayout.prefixByteCount(before: byteCount)
        try set(
            key, to: prefix.span.bytes.extracting(first: prefixByteCount), chunk, in: table)
    }
}
