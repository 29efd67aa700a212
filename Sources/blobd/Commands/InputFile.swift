import Glibc

struct InputFile: ~Copyable {
    private static let pieceByteCount = 262_144

    let name: String
    private let descriptor: CInt
    private let mode: mode_t
    private(set) var byteCount = 0
    /// The number of bytes to read; 0: not known.
    let byteCountInAll: UInt64

    init(_ path: String) throws(CommandFailure) {
        let isStandard = path == "-"
        let name = isStandard ? "standard input" : path
        let descriptor = isStandard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        self.init(taking: descriptor, name)
        guard descriptor >= 0 else {
            throw CommandFailure(.badUsage, "\(path): \(errorText(errno))")
        }
    }

    private init(taking descriptor: CInt, _ name: String) {
        self.name = name
        self.descriptor = descriptor
        var status = stat()
        let isKnown = descriptor >= 0 && fstat(descriptor, &status) == 0
        mode = isKnown ? status.st_mode & S_IFMT : 0
        // Standard input may be a file that was partly read.
        let position = mode == S_IFREG ? max(0, lseek(descriptor, 0, SEEK_CUR)) : 0
        byteCountInAll = mode == S_IFREG ? UInt64(max(0, status.st_size - position)) : 0
    }

    deinit { if descriptor > STDIN_FILENO { close(descriptor) } }

    /// The next bytes, which stay unread. Empty for a pipe.
    func peek(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { memory, filled in
            // `pread` writes at most as many bytes as fit, and returns how many.
            let position = lseek(descriptor, 0, SEEK_CUR)
            filled = max(0, pread(descriptor, memory.baseAddress, memory.count, position))
        }
    }

    /// Appends up to `byteCountMax` bytes to a buffer; nothing at the end.
    mutating func read(
        into buffer: inout [UInt8], byteCountMax: Int = pieceByteCount
    ) throws(CommandFailure) {
        var code: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: byteCountMax) { memory, count in
            // `read` writes at most as many bytes as fit, and returns how many.
            var result: Int
            repeat {
                result = Glibc.read(descriptor, memory.baseAddress, memory.count)
            } while result < 0 && errno == EINTR
            if result < 0 { code = errno }
            count = max(0, result)
        }
        guard code == 0 else { throw CommandFailure(.refused, "\(name): \(errorText(code))") }
        if buffer.isEmpty { buffer = bytes } else { buffer += bytes }
        byteCount += bytes.count
    }

    mutating func read(_ count: Int) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let before = bytes.count
            try read(into: &bytes, byteCountMax: min(count - before, 1 << 20))
            guard bytes.count > before else {
                throw CommandFailure(.refused, "\(name) is truncated")
            }
        }
        return bytes
    }
}

// MARK: - Files of a known length

extension InputFile {
    struct Limit {
        let byteCountMax: UInt64
        let words: String
        let status: ExitStatus

        static func payload(_ byteCountMax: UInt64) -> Limit {
            Limit(byteCountMax: byteCountMax, words: "the daemon's limit", status: .refused)
        }

        static func lines(_ thing: String) -> Limit {
            Limit(byteCountMax: 1 << 28, words: "the limit for a \(thing)", status: .badUsage)
        }
    }

    /// Opens a file whose length must be known, since the protocol sends it first. A pipe is copied to an unnamed file,
    /// so memory stays bounded; over `byteCountMax` this is a refusal, like the daemon's.
    static func measured(
        _ path: String, byteCountMax: UInt64
    ) throws(CommandFailure) -> InputFile {
        let source = try InputFile(path)
        switch source.mode {
        case S_IFREG: return source
        case S_IFDIR:
            throw CommandFailure(.badUsage, "\(source.name) is a directory; give a file")
        default: return try source.spooled(byteCountMax: byteCountMax)
        }
    }

    static func bytes(of path: String, _ limit: Limit) throws(CommandFailure) -> [UInt8] {
        var file = try measured(path, byteCountMax: limit.byteCountMax)
        guard file.byteCountInAll <= limit.byteCountMax else {
            throw CommandFailure(
                limit.status,
                "\(path) is \(file.byteCountInAll) bytes long; \(limit.words) is \(limit.byteCountMax) bytes"
            )
        }
        var bytes: [UInt8] = []
        var before = -1
        // The file may be growing.
        while bytes.count > before, UInt64(bytes.count) <= file.byteCountInAll {
            before = bytes.count
            try file.read(into: &bytes)
        }
        return bytes
    }

    private consuming func spooled(byteCountMax: UInt64) throws(CommandFailure) -> InputFile {
        let spool = try Self.makeSpool()
        do throws(CommandFailure) {
            try copy(to: spool, byteCountMax: byteCountMax)
        } catch {
            close(spool)
            throw error
        }
        lseek(spool, 0, SEEK_SET)
        return InputFile(taking: spool, name)
    }

    private mutating func copy(to spool: CInt, byteCountMax: UInt64) throws(CommandFailure) {
        var piece: [UInt8] = []
        var progress = ProgressBar("reading")
        defer { progress.finish() }
        while true {
            piece.removeAll(keepingCapacity: true)
            try read(into: &piece)
            if piece.isEmpty { return }
            progress.update(UInt64(byteCount))
            guard UInt64(byteCount) <= byteCountMax else {
                throw CommandFailure(
                    .refused, "\(name) is over the limit of \(byteCountMax) bytes")
            }
            if let code = writeAll(piece.span.bytes, to: spool) {
                throw CommandFailure(.refused, "cannot spool \(name): \(errorText(code))")
            }
        }
    }

    /// An unnamed file in TMPDIR or /tmp, which disappears with its descriptor.
    private static func makeSpool() throws(CommandFailure) -> CInt {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(folder)/blobd-XXXXXX\0".utf8CString)
        let named = mkstemp(&template)
        guard named >= 0 else {
            throw CommandFailure(
                .refused, "cannot create a temporary file in \(folder): \(errorText(errno))")
        }
        unlink(template)
        return named
    }
}
