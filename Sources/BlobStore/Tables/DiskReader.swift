internal import Bytes
internal import Glibc

/// Reads stretches of `data.mdb` from the disk, past the page cache (`O_DIRECT`, open(2)) where the file
/// system can: what is in memory may be right while the disk has lost it, and what is seldom read does not
/// push out what is. A sector that cannot be read is an error and no signal. One thread uses it.
final class DiskReader {
    private var descriptor: Int32
    private let isDirect: Bool
    /// Begins at a page, as such reads must.
    private let buffer: UnsafeMutableRawBufferPointer

    private static let pageByteCount = 4_096
    /// The longest value, at any place of a page.
    private static let byteCountMax = (64 << 10) + 2 * pageByteCount

    /// Nil where the file cannot be opened.
    init?(_ path: String) {
        var descriptor: Int32 = -1
        if let flag = DirectFlag.value {
            descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flag)
        }
        isDirect = descriptor >= 0
        if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
        guard descriptor >= 0 else { return nil }
        let memory = mmap(
            nil, Self.byteCountMax, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        buffer = UnsafeMutableRawBufferPointer(start: memory, count: Self.byteCountMax)
    }

    deinit {
        munmap(buffer.baseAddress, buffer.count)
        close(descriptor)
    }

    /// Calls `body` with `byteCount` bytes from `offset` on. Returns what `body` returns; nil where they are
    /// too many, or this is not the way to read them. Throws ``StoreError/io(operation:errno:)`` where the disk
    /// cannot read them; what `body` throws.
    func withBytes<Result>(
        at offset: Int, count byteCount: Int, _ body: (RawSpan) throws(StoreError) -> Result
    ) throws(StoreError) -> Result? {
        let start = offset / Self.pageByteCount * Self.pageByteCount
        let end =
            (offset + byteCount + Self.pageByteCount - 1) / Self.pageByteCount * Self.pageByteCount
        guard end - start <= buffer.count else { return nil }
        var filled = 0
        while filled < offset + byteCount - start {
            let count = pread(
                descriptor, buffer.baseAddress?.advanced(by: filled), end - start - filled,
                off_t(start + filled))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EIO { throw .system("read data.mdb at \(start)") }
            guard count > 0, !isDirect || count.isMultiple(of: 512) else { return nil }
            filled += count
        }
        let bytes = UnsafeRawBufferPointer(
            rebasing: UnsafeRawBufferPointer(buffer)[offset - start..<offset - start + byteCount])
        return try body(bytes.bytes)
    }
}

/// `O_DIRECT`, a macro of macros that Swift does not import; it is another number on each kind of
/// processor.
enum DirectFlag {
    static var value: Int32? {
        #if arch(x86_64)
        0o40000
        #elseif arch(arm64)
        0o200000
        #else
        nil
        #endif
    }
}
