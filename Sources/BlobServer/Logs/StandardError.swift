import Glibc

/// Standard error, written to in whole lines.
enum StandardError {
    /// Writes a line (`write`). What cannot be written is lost: there is nowhere to say so.
    static func write(_ line: [UInt8]) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
