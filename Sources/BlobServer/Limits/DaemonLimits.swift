package import BlobProtocol
import BlobStore

/// The limits that an operator can choose, with their defaults. One that nobody chooses is a constant of the type
/// that it limits.
package struct DaemonLimits: Sendable {
    package init() {}

    package var payloadByteCountMax = 64 << 20
    package var codedByteCountMax: Int { StoreLimits.codedByteCountMax(for: payloadByteCountMax) }
    /// In seconds; nil: 30 days, or ``ttlSecondsMax`` if that is less.
    package var explicitDefaultTTLSeconds: Int64?
    package var defaultTTLSeconds: Int64 {
        explicitDefaultTTLSeconds ?? min(30 * 86_400, ttlSecondsMax)
    }
    package var ttlSecondsMax: Int64 = 30 * 86_400
    package var connectionCountMax = 8_192
    package var bodyMemoryByteCountMax = 64 << 20
    /// Of all workers together; see ``AnswerMemory``.
    package var answerMemoryByteCountMax = 64 << 20
    /// How long a request's head may take from its first byte on.
    package var headMilliseconds = 10_000
    package var idleMilliseconds = 75_000
    /// In bytes per second, over ``rateWindowMilliseconds``.
    package var rateMin = 4_096
    package var rateWindowMilliseconds = 10_000
    package var drainMilliseconds = 10_000
    /// How often the writer looks for what has expired.
    package var sweepMilliseconds = 1_000
    /// How long a stream of changes is quiet before it gives a heartbeat.
    package var heartbeatMilliseconds = 25_000

    /// What is put in front of the signed links in pushes; nil: pushes have none.
    package var linkBase: String?
    /// How long such a link is good at the most; nil: as long as its notification.
    package var linkTTLSeconds: Int64?

    /// Whose limits hold for the parts of all notifications; nil: nobody's.
    package var profile: DeviceProfile?
    /// Whether a notification is only patched under a condition (RFC 6585, section 3).
    package var requiresIfMatch = false

    /// How long what an earlier run may have sent zero-copy is not freed; nil: as long as the other limits make it.
    package var explicitZeroCopyGraceMilliseconds: Int?
    /// Where none is given, as long as the slowest client that is allowed takes to read what its socket may hold, and
    /// a minute at least.
    package var zeroCopyGraceMilliseconds: Int {
        if let given = explicitZeroCopyGraceMilliseconds { return given }
        let heldByteCount = 2 * Int(Socket.widenedByteCount)
        let reading = heldByteCount * 1_000 / max(rateMin, Self.zeroCopyRateMin)
        return max(Self.zeroCopyGraceMillisecondsMin, reading + rateWindowMilliseconds)
    }
    private static let zeroCopyGraceMillisecondsMin = Int(StoreLimits.zeroCopyGraceMilliseconds)
    /// How slow clients are supposed to be where they may be as slow as they like.
    static let zeroCopyRateMin = 1_024

    /// From how many bytes on payloads leave by `sendfile`; 0: none do. Linking took 1.1 to 1.6 times as long for 16
    /// KiB as copying, and 0.9 of it for 32 KiB.
    package var linkedByteCountMin = 32 << 10

    /// How long a worker that has just answered looks for the next request before it sleeps (``IdleSpin``).
    package var spinMicroseconds = 50

    /// Requests that take longer are logged, in milliseconds; 0: none are.
    package var slowMilliseconds = 1_000
    /// In how many days everything in the store is read again; 0: it is not.
    package var scrubDays = 7

    /// Whether short changes are acknowledged when they are in the log, and committed a little later.
    package var isLogging = true
}
