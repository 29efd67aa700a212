package import BlobProtocol
import Glibc

/// The file that has the keys of links.
package enum SigningKeyFile {
    /// Why its keys are not used, as a sentence.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Reads the keys. A file that others may read, or its group may write, is refused.
    package static func read(_ path: String) throws(Failure) -> SigningKeys {
        func refuse(_ reason: String) -> Failure {
            Failure(description: "--signing-keys \(path): \(reason)")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw refuse(SystemError.text(errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw refuse(SystemError.text(errno))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refuse("is not a regular file") }
        guard status.st_mode & 0o027 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw refuse("has the mode \(mode); others must not read it: chmod 600 or 640")
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= SigningKeys.fileByteCountMax {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw refuse(SystemError.text(errno)) }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        do throws(SigningKeyError) {
            return try SigningKeys(parsing: bytes)
        } catch {
            throw refuse(error.description)
        }
    }
}
