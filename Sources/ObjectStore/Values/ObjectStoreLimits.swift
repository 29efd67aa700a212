/// Every limit of a bucket's clients. Times are in milliseconds, sizes in bytes.
package struct ObjectStoreLimits: Sendable {
    package init() {}

    /// To resolve a name, connect, and agree on TLS.
    package var connectMilliseconds = 5_000
    /// A whole request: this, and its bytes at ``bytesPerSecondMin``.
    package var requestMilliseconds = 20_000
    /// The slowest transfer that is waited for to its end.
    package var bytesPerSecondMin = 32 << 10
    /// A request that moves less than one byte a second for this long is given up: the longest wait for an answer.
    package var stallMilliseconds = 15_000
    /// The longest wait for an answer to a body, where shorter ones were in vain.
    package var answerMillisecondsMax = 240_000
    /// How often an idempotent request is sent in all. 1: never again.
    package var attemptCountMax = 5
    /// Between attempts: a random time up to this, doubled with each attempt …
    package var backoffMilliseconds = 50
    /// … but never more than this, and never more where the server says `Retry-After`.
    package var backoffMillisecondsMax = 5_000
    package var idleSecondsMax = 60
    package var headerByteCountMax = 32 << 10
    package var errorByteCountMax = 16 << 10
    /// A page of a listing. AWS sends about 400 bytes a key, and 1,000 keys at most.
    package var listByteCountMax = 8 << 20
    /// The most keys a page is asked for, and the most that servers give.
    package var listKeyCountMax = 1_000
    /// A body that is put: a payload of 512 MiB, with what its object has besides. S3 takes 5 GiB at once.
    package var putByteCountMax = payloadByteCountMax + 4 << 10
    /// A payload in a body that is put.
    package static let payloadByteCountMax = 512 << 20

    /// To read credentials from their source, whatever that takes: the longest wait for them.
    package var credentialsMilliseconds = 10_000
    /// To connect to a source on this machine or the one below it. Where there is none, nobody may answer at all.
    package var nearConnectMilliseconds = 1_000
    /// How long before their end credentials are read again; at most half of the time that they have left.
    package var credentialsEarlyMilliseconds = 300_000
    /// The longest pause after a source gave none. The first is a random time up to a second.
    package var credentialsBackoffMillisecondsMax = 15_000
    /// Between reads of a source that is no file because a server refused what it gave.
    package var refusedCredentialsMilliseconds = 15_000

    /// Connections that one user has at the same time, where many objects are asked for.
    package static let connectionCountMax = 32
    /// A key with its prefix, in UTF-8: S3's own limit.
    package static let keyByteCountMax = 1_024
    package static let credentialsByteCountMax = 64 << 10
    /// How deep elements of an answer are nested: S3's are at 4.
    package static let xmlDepthMax = 12
    /// How many elements an answer may have: a page of 1,000 keys has under 10,000.
    package static let xmlElementCountMax = 32_000
}
