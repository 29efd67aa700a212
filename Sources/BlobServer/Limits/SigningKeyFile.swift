package import BlobProtocol
import Glibc

package enum SigningKeyFile {
    /// Reads the keys. Refuses a file that others may read, or that its group may write.
    package static func read(_ path: String) throws(SigningKeyError) -> SigningKeys {
        func refuse(_ reason: String) -> SigningKeyError {
            SigningKeyError("--signing-keys \(path): \(reason)")
        }
        let bytes: [UInt8]
        do throws(SmallFile.Failure) {
            bytes = try SmallFile.read(path, byteCountMax: SigningKeys.fileByteCountMax) {
                (status) throws(SmallFile.Failure) in
                guard status.st_mode & S_IFMT == S_IFREG else {
                    throw SmallFile.Failure(reason: "is not a regular file")
                }
                guard status.st_mode & 0o027 == 0 else {
                    let mode = String(status.st_mode & 0o777, radix: 8)
                    throw SmallFile.Failure(
                        reason:
                            "has the mode \(mode); it must not be readable by others: chmod 600 or 640"
                    )
                }
            }
        } catch {
            throw refuse(error.reason)
        }
        do throws(SigningKeyError) {
            return try SigningKeys(parsing: bytes)
        } catch {
            throw refuse(error.description)
        }
    }
}
