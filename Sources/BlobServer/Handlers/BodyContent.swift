import BlobProtocol
import BlobStore

/// Where the bytes of a body go as they come: one of the three. All of it can be moved to files on
/// the disk, so that none of it has to stay in memory before it is whole.
struct BodyContent: ~Copyable {
    var payload: PayloadWriter?
    var document: DocumentWriter?
    var multipart: MultipartReceiver?

    mutating func append(_ bytes: RawSpan) throws(BodyFailure) {
        if let multipart { return try multipart.append(bytes) }
        do throws(StoreError) {
            if payload != nil {
                try payload?.append(bytes)
            } else {
                try document?.append(bytes)
            }
        } catch {
            throw .store(error)
        }
    }

    // MARK: - Memory

    var heldByteCount: Int {
        if let multipart { return multipart.heldByteCount }
        return isSpooled ? 0 : byteCount
    }

    private var byteCount: Int {
        switch payload {
        case .some(let writer): return writer.byteCount
        case .none: break
        }
        switch document {
        case .some(let writer): return writer.byteCount
        case .none: return 0
        }
    }

    /// Whether further bytes stay out of memory.
    var isSpooled: Bool {
        switch payload {
        case .some(let writer): return writer.isSpooled
        case .none: break
        }
        switch document {
        case .some(let writer): return writer.isSpooled
        case .none: return false
        }
    }

    var spoolCount: Int {
        if let multipart { return multipart.spooled.count }
        return isSpooled ? 1 : 0
    }

    /// Whether there is something in memory, or to come there, that could go to the disk.
    var canSpool: Bool { multipart?.canSpool ?? !isSpooled }

    func mustSpool(before more: Int) -> Bool {
        if let multipart { return multipart.mustSpool(before: more) }
        return !isSpooled && byteCount + more > StoreLimits.payloadInMemoryByteCountMax
    }

    /// The memory that what is on the disk may need when it is finished: a payload that is
    /// compressed may become short, and a document is read.
    var finishingByteCount: Int {
        if let multipart { return multipart.spooled.byteCountMax }
        guard isSpooled else { return 0 }
        return payload == nil
            ? byteCount : min(byteCount, StoreLimits.payloadInMemoryByteCountMax)
    }

    mutating func reserveCapacity(_ byteCount: Int) {
        payload?.reserveCapacity(byteCount)
        document?.reserveCapacity(byteCount)
    }

    /// Moves what is in memory to a file, of several files the longest.
    mutating func spool() throws(BodyFailure) {
        do throws(StoreError) {
            try payload?.spool()
            try document?.spool()
            try multipart?.spool()
        } catch {
            throw .store(error)
        }
    }
}
