import Glibc

/// Whole files, as tests need them. Never for a file that a store of this process has open: closing
/// it would drop the store's locks.
enum Files {
    struct Failed: Error {
        var path: String
        var errno: Int32
    }

    static func read(_ path: String) throws -> [UInt8] {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failed(path: path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        fstat(descriptor, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + filled, $0.count - filled)
            }
            guard count > 0 else { throw Failed(path: path, errno: errno) }
            filled += count
        }
        return bytes
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failed(path: path, errno: errno) }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written)
            }
            guard count > 0 else { throw Failed(path: path, errno: errno) }
            written += count
        }
    }

    /// The size of a file, which is not opened.
    static func byteCount(_ path: String) throws -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Failed(path: path, errno: errno) }
        return Int(status.st_size)
    }

    /// Changes some bytes in place.
    static func overwrite(_ bytes: [UInt8], at offset: Int, in path: String) throws {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failed(path: path, errno: errno) }
        defer { close(descriptor) }
        guard pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count else {
            throw Failed(path: path, errno: errno)
        }
    }

    static func remove(_ path: String) {
        if unlink(path) != 0 { rmdir(path) }
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The names in a folder, sorted.
    static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
