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

/// How large a file system is, and how much of it is free (`fstatvfs`). Nil where that is not known: some network file
/// systems and some of FUSE say that they have no blocks.
struct Disk {
    let byteCount: Int
    let availableByteCount: Int

    init?(_ descriptor: Int32) {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(_ status: statvfs) {
        guard status.f_blocks > 0 else { return nil }
        func bytes(_ blocks: UInt) -> Int {
            let (product, overflow) = blocks.multipliedReportingOverflow(by: status.f_frsize)
            return overflow ? .max : Int(clamping: product)
        }
        byteCount = bytes(status.f_blocks)
        availableByteCount = bytes(status.f_bavail)
    }
}

/// How large a file of this process may be (`RLIMIT_FSIZE`).
enum FileSizeLimit {
    static var byteCount: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else {
            return .max
        }
        return Int(clamping: limit.rlim_cur)
    }
}

/// How much memory a process may map (`RLIMIT_AS`).
enum AddressSpace {
    /// What a map of so many bytes needs, where there was none, and what to do.
    static func advice(_ mapByteCount: Int) -> String {
        var limit = rlimit()
        let isLimited =
            getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0
            && Int(clamping: limit.rlim_cur) < .max
        let has =
            isLimited
            ? "this process may map \(limit.rlim_cur) bytes (ulimit -v)"
            : "the system does not give as much"
        return
            "a map of \(mapByteCount) bytes (map-size), but \(has): raise that limit, or serve with a lower map-size"
    }
}

/// How long a file is, and how much of it is allocated (`fstat`).
struct FileExtent {
    let byteCount: Int
    let allocatedByteCount: Int

    init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        byteCount = Int(status.st_size)
        allocatedByteCount = Int(status.st_blocks) * 512
    }

    var holeByteCount: Int { max(0, byteCount - allocatedByteCount) }
}
