import Glibc

/// The bytes of a file or of standard input, with their length known beforehand, because the
/// protocol wants it first. What comes from a pipe is spooled to a file without a name, so memory
/// stays bounded.
struct PayloadFile: ~Copyable {
    private static let pieceByteCount = 262_144

    /// How many bytes `read` will give.
    let byteCount: UInt64
    private let descriptor: CInt
    private let name: String

    /// Opens `path`, or standard input for `-`. A pipe is read to its end first; over
    /// `byteCountMax` that is a refusal, as the daemon's would be.
    init(_ path: String, byteCountMax: UInt64) throws {
        let source = try Source(path)
        let status = try source.status()
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            // Standard input may be a file that somebody has read a part of.
            let position = max(0, lseek(source.descriptor, 0, SEEK_CUR))
            byteCount = UInt64(max(0, status.st_size - position))
            descriptor = fcntl(source.descriptor, F_DUPFD_CLOEXEC, 0)
        case S_IFDIR:
            throw CommandFailure(.badUsage, "\(source.name) is a directory; give a file")
        default:
            let spool = try Self.makeSpool()
            do {
                byteCount = try Self.copy(source, to: spool, byteCountMax: byteCountMax)
            } catch {
                close(spool)
                throw error
            }
            lseek(spool, 0, SEEK_SET)
            descriptor = spool
        }
        name = source.name
    }

    deinit { close(descriptor) }

    /// Appends the next piece to an empty array; nothing at the end.
    borrowing func read(into piece: inout [UInt8]) throws(CommandFailure) {
        try Self.read(descriptor, name, into: &piece)
    }

    /// All bytes at once.
    borrowing func readAll() throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece: [UInt8] = []
        repeat {
            piece.removeAll(keepingCapacity: true)
            try read(into: &piece)
            bytes += piece
        } while !piece.isEmpty && UInt64(bytes.count) <= byteCount
        return bytes
    }

    private static func read(
        _ descriptor: CInt, _ name: String, into piece: inout [UInt8]
    ) throws(CommandFailure) {
        var failure: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: pieceByteCount) { buffer, count in
            // `read` writes at most the buffer's bytes, and its result says how many it wrote.
            var result: Int
            repeat {
                result = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            } while result < 0 && errno == EINTR
            if result < 0 { failure = errno }
            count = max(0, result)
        }
        guard failure == 0 else {
            throw CommandFailure(.badUsage, "\(name): \(errorText(failure))")
        }
        if piece.isEmpty { piece = bytes } else { piece += bytes }
    }

    /// A file without a name in TMPDIR or /tmp: it is gone when its descriptor is.
    private static func makeSpool() throws(CommandFailure) -> CInt {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let descriptor = open(folder, temporaryFileFlags | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor >= 0 { return descriptor }
        // Not every file system has O_TMPFILE.
        var template = Array("\(folder)/blobd-XXXXXX\0".utf8CString)
        let named = mkstemp(&template)
        guard named >= 0 else {
            throw CommandFailure(
                .refused, "cannot create a temporary file in \(folder): \(errorText(errno))")
        }
        unlink(template)
        return named
    }

    private static func copy(
        _ source: borrowing Source, to spool: CInt, byteCountMax: UInt64
    ) throws(CommandFailure) -> UInt64 {
        var total: UInt64 = 0
        var piece: [UInt8] = []
        while true {
            piece.removeAll(keepingCapacity: true)
            try read(source.descriptor, source.name, into: &piece)
            if piece.isEmpty { return total }
            total += UInt64(piece.count)
            guard total <= byteCountMax else {
                throw CommandFailure(
                    .refused,
                    "\(source.name) is over the limit of \(byteCountMax) bytes")
            }
            if let code = writeAll(piece.span.bytes, to: spool) {
                throw CommandFailure(.refused, "cannot spool \(source.name): \(errorText(code))")
            }
        }
    }

    /// An open file, closed in the end unless it is standard input.
    private struct Source: ~Copyable {
        let descriptor: CInt
        let name: String

        init(_ path: String) throws(CommandFailure) {
            if path == "-" {
                (descriptor, name) = (STDIN_FILENO, "standard input")
                return
            }
            let opened = open(path, O_RDONLY | O_CLOEXEC)
            guard opened >= 0 else {
                throw CommandFailure(.badUsage, "\(path): \(errorText(errno))")
            }
            (descriptor, name) = (opened, path)
        }

        deinit {
            if descriptor != STDIN_FILENO { close(descriptor) }
        }

        borrowing func status() throws(CommandFailure) -> stat {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                throw CommandFailure(.badUsage, "\(name): \(errorText(errno))")
            }
            return status
        }
    }
}
