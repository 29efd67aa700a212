import Glibc

/// Makes a file of these bytes, or replaces what it has.
func writeFile(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try require(descriptor >= 0, "\(path) cannot be made: \(words(errno))")
    defer { close(descriptor) }
    var written = 0
    while written < bytes.count {
        let count = bytes.withUnsafeBytes {
            write(descriptor, $0.baseAddress.map { $0 + written }, bytes.count - written)
        }
        try require(count > 0, "\(path) cannot be written: \(words(errno))")
        written += count
    }
}

/// A path without links; the file must be there.
func withoutLinks(_ path: String) throws -> String {
    guard let resolved = realpath(path, nil) else {
        throw Failure("\(path) cannot be resolved: \(words(errno))")
    }
    defer { free(resolved) }
    return String(cString: resolved)
}
