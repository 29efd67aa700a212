internal import Bytes
internal import Glibc

/// Whole reads and writes of a stretch of a file, whatever one `pread` or `pwrite` does of it.
enum FileBytes {
    /// Fills `bytes` from an offset on. Returns how many there are, fewer at the end of the file; -1: errno
    /// says why.
    static func read(_ descriptor: Int32, at offset: Int, into bytes: inout [UInt8]) -> Int {
        bytes.withUnsafeMutableBytes { bytes in
            var filled = 0
            while filled < bytes.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
                let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset + filled))
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { return -1 }
                if count == 0 { break }
                filled += count
            }
            return filled
        }
    }

    /// Writes all of `bytes`. Not synced. Returns false when not all of them are written; errno says why.
    static func write(_ bytes: RawSpan, at offset: Int, to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = pwrite(
                    descriptor, rest.baseAddress, rest.count, off_t(offset + written))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                written += count
            }
            return true
        }
    }
}
