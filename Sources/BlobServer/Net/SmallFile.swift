import BlobStore
package import Glibc

/// Small files of the operator, read as a whole.
package enum SmallFile {
    package struct Failure: Error {
        package let reason: String
    }

    /// Reads a regular file, or a device such as `/dev/null`, unless `check` refuses its status.
    package static func read(
        _ path: String, byteCountMax: Int,
        _ check: (stat) throws(Failure) -> Void = { (_) throws(Failure) in }
    ) throws(Failure) -> [UInt8] {
        // Without O_NONBLOCK, opening a pipe would wait.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(reason: SystemError.text(errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Failure(reason: SystemError.text(errno))
        }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFCHR else {
            throw Failure(
                reason: kind == S_IFDIR ? "is a directory" : "is not a regular file")
        }
        try check(status)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= byteCountMax {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(reason: SystemError.text(errno)) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
        throw Failure(reason: "is longer than \(byteCountMax) bytes")
    }
}
