import Glibc

/// A file that is read from its start to its end, or standard input.
struct InputFile: ~Copyable {
    private let descriptor: CInt
    private let name: String
    /// Bytes that were read.
    private(set) var byteCount = 0
    /// Bytes that there are; 0: that is not known.
    let byteCountInAll: UInt64

    /// - Parameter path: `-` for standard input.
    init(_ path: String) throws(CommandFailure) {
        name = path == "-" ? "standard input" : path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure(.badUsage, "\(path): \(errorText(errno))")
        }
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        byteCountInAll = isFile ? UInt64(status.st_size) : 0
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// Appends up to so many bytes to a buffer; nothing at the end.
    mutating func read(
        into buffer: inout [UInt8], byteCountMax: Int
    ) throws(CommandFailure) {
        let start = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: byteCountMax))
        var count: Int
        repeat {
            count = buffer.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + start, byteCountMax)
            }
        } while count < 0 && errno == EINTR
        let code = errno
        buffer.removeLast(byteCountMax - max(0, count))
        guard count >= 0 else { throw CommandFailure(.refused, "\(name): \(errorText(code))") }
        byteCount += count
    }

    /// So many bytes. Throws where there are fewer.
    mutating func read(_ count: Int) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let before = bytes.count
            try read(into: &bytes, byteCountMax: min(count - before, 1 << 20))
            guard bytes.count > before else {
                throw CommandFailure(.refused, "\(name) ends too early")
            }
        }
        return bytes
    }

    /// What it is called in messages.
    var title: String { name }
}
