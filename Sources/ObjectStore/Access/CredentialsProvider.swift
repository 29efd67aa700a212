import Synchronization

/// The credentials that all clients of a bucket sign with, read again when a server refuses them: a key that is rotated in
/// the file is taken over while the daemon runs.
package final class CredentialsProvider: Sendable {
    private let environment: ProcessEnvironment
    private let current: Mutex<Credentials>

    /// Reads them: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, else the file that
    /// `AWS_SHARED_CREDENTIALS_FILE` names, or `~/.aws/credentials`, there the profile `AWS_PROFILE`, or `default`.
    package init(_ environment: ProcessEnvironment) throws(ObjectStoreError) {
        self.environment = environment
        current = Mutex(try Self.checked(environment))
    }

    package var credentials: Credentials { current.withLock { $0 } }

    /// Reads them again, because a server refused `refused`.
    ///
    /// - Returns: others, or nil when they are the same. What cannot be read now leaves those that are there.
    func refresh(insteadOf refused: Credentials) -> Credentials? {
        current.withLock { current in
            // Another client was first.
            if current != refused { return current }
            guard let read = try? Self.checked(environment), read != refused else { return nil }
            current = read
            return read
        }
    }

    /// Credentials that can stand in a header.
    private static func checked(
        _ environment: ProcessEnvironment
    ) throws(ObjectStoreError) -> Credentials {
        let read = try read(environment)
        for text in [read.accessKeyID, read.secretAccessKey, read.sessionToken ?? "-"]
        where !text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) {
            throw ObjectStoreError(
                .noCredentials,
                "the credentials of \(read.source) have blanks, control characters or letters beyond ASCII"
            )
        }
        return read
    }

    private static func read(
        _ environment: ProcessEnvironment
    ) throws(ObjectStoreError) -> Credentials {
        let id = environment["AWS_ACCESS_KEY_ID"]
        let secret = environment["AWS_SECRET_ACCESS_KEY"]
        if let id, let secret {
            return Credentials(
                accessKeyID: id, secretAccessKey: secret,
                sessionToken: environment["AWS_SESSION_TOKEN"], source: "the environment")
        }
        guard id == nil, secret == nil else {
            throw ObjectStoreError(
                .noCredentials,
                "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set: set both, or none and use a credentials file"
            )
        }
        let named = environment["AWS_SHARED_CREDENTIALS_FILE"]
        guard let path = named ?? environment["HOME"].map({ "\($0)/.aws/credentials" }) else {
            throw ObjectStoreError(
                .noCredentials,
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE"
            )
        }
        return try CredentialsFile.read(path, profile: environment["AWS_PROFILE"] ?? "default")
    }
}
