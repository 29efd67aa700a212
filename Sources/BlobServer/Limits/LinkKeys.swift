package import BlobProtocol
import Glibc
import Synchronization

/// The keys that verify devices' links. A reload replaces them.
package final class LinkKeys: Sendable {
    /// The keys, and how often they have been replaced.
    struct Version {
        /// Nil: no link is valid.
        var keys: SigningKeys?
        var number: UInt64 = 0
    }

    private let current: Mutex<Version>

    package init(_ keys: SigningKeys?) { current = Mutex(Version(keys: keys)) }

    var version: Version { current.withLock { $0 } }

    /// Nil: no link is valid.
    package var keys: SigningKeys? { version.keys }

    /// Replaces them. A wait or a stream by a link is checked again.
    package func replace(by keys: SigningKeys?) {
        current.withLock { $0 = Version(keys: keys, number: $0.number + 1) }
    }
}

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
                            "has the mode \(mode); others must not read it: chmod 600 or 640")
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
