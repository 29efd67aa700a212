internal import Hashing

extension Snapshot {
    /// Inflates a blob from each of its restart points to the next, and compares the digest of all
    /// these bytes. Nothing is done for a blob that has none.
    borrowing func checkRestartPoints(of blob: BlobReference) throws(StoreError) {
        let points = RestartPoints(byteCount: blob.byteCount)
        let reader = ChunkReader(self)
        guard blob.coding == .gzip, points.count > 0,
            try RestartPoints.point(before: blob.byteCount, of: blob, reader) != nil
        else { return }
        var hash = SHA256()
        var buffer: [UInt8] = []
        for index in 0...points.count {
            let start = index * points.interval
            let end = min(start + points.interval, blob.byteCount)
            let inflater = try Inflater(blob, before: start, reader)
            guard inflater.position == start else {
                throw .corrupt("restart point \(index) of \(blob.digest)")
            }
            while inflater.position < end {
                buffer.removeAll(keepingCapacity: true)
                let wanted = min(Inflater.pieceByteCount, end - inflater.position)
                let count = try inflater.read(from: reader, into: &buffer, byteCountMax: wanted)
                guard count > 0 else { throw .corrupt("\(blob.digest) ends too early") }
                hash.update(buffer)
            }
        }
        guard Digest(hash.digest()) == blob.digest else {
            throw .corrupt("a restart point of \(blob.digest) is at another position")
        }
    }
}
