import Glibc

/// Short commands of others, and small files of the kernel's.
enum Shell {
    /// What a command prints on standard output, without the white space around it.
    ///
    /// - Returns: an empty text when the command is not there or prints nothing.
    static func output(_ command: String) -> String {
        guard let pipe = popen(command, "r") else { return "" }
        let text = contents(pipe)
        pclose(pipe)
        return text
    }

    /// A file's text, without the white space around it; empty when it cannot be read.
    static func file(_ path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        let text = contents(file)
        fclose(file)
        return text
    }

    private static func contents(_ file: UnsafeMutablePointer<FILE>) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return String(decoding: bytes.drop { $0 <= 0x20 }, as: UTF8.self)
    }
}

/// Small files.
enum Files {
    static func makeFolder(_ path: String) throws {
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw failure(path) }
    }

    static func write(_ text: String, to path: String) throws {
        try write(Array(text.utf8).span.bytes, to: path)
    }

    static func write(_ bytes: RawSpan, to path: String) throws {
        guard let file = fopen(path, "we") else { throw failure(path) }
        let written = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
        guard fclose(file) == 0, written == bytes.byteCount else { throw failure(path) }
    }

    private static func failure(_ path: String) -> CompareFailure {
        CompareFailure("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}

/// Seconds of a clock that only goes forward.
func monotonicSeconds() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
