package import BlobProtocol
import BlobStore

/// The limits that an operator can set, with their defaults. Other limits are constants of the type that they limit.
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
    /// Shared by all workers; see ``AnswerMemory``.
    package var answerMemoryByteCountMax = 64 << 20
    /// How long a request's head may take, from its first byte.
    package var headMilliseconds = 10_000
    package var idleMilliseconds = 75_000
    /// In bytes per second, over ``rateWindowMilliseconds``.
    package var rateMin = 4_096
    package var rateWindowMilliseconds = 10_000
    package var drainMilliseconds = 10_000
    /// How often the writer looks for expired notifications.
    package var sweepMilliseconds = 1_000
    /// How long a stream of changes may be silent before it sends a heartbeat.
    package var heartbeatMilliseconds = 25_000

    /// The prefix of signed links in pushes; nil: pushes contain no links.
    package var linkBase: String?
    /// The longest validity of such a link; nil: as long as its notification.
    package var linkTTLSeconds: Int64?

    /// The profile whose limits apply to the parts of all notifications; nil: none.
    package var profile: DeviceProfile?
    /// Whether patching a notification requires a condition (RFC 6585, section 3).
    package var requiresIfMatch = false

    /// How long bytes that an earlier run may have sent without a copy are not freed; nil: derived from the other
    /// limits.
    package var explicitZeroCopyGraceMilliseconds: Int?
    /// By default, as long as the slowest permitted client takes to read a full socket, and at least a minute.
    package var zeroCopyGraceMilliseconds: Int {
        if let given = explicitZeroCopyGraceMilliseconds { return given }
        let heldByteCount = 2 * Int(Socket.widenedByteCount)
        let reading = heldByteCount * 1_000 / max(rateMin, Self.zeroCopyRateMin)
        return max(Self.zeroCopyGraceMillisecondsMin, reading + rateWindowMilliseconds)
    }
    private static let zeroCopyGraceMillisecondsMin = Int(StoreLimits.zeroCopyGraceMilliseconds)
    /// The assumed rate of clients if there is no minimum rate, in bytes per second.
    static let zeroCopyRateMin = 1_024

    /// From this many bytes on, payloads are sent with `sendfile`; 0: never. Linking took 1.1 to 1.6 times as long as
    /// copying for 16 KiB, and 0.9 times for 32 KiB.
    package var linkedByteCountMin = 32 << 10

    /// How long a worker that has just answered polls for the next request before it sleeps (``IdleSpin``).
    package var spinMicroseconds = 50

    /// Slower requests are logged, in milliseconds; 0: none are.
    package var slowMilliseconds = 1_000
    /// The number of days in which the whole store is read again; 0: never.
    package var scrubDays = 7

    /// Whether short changes are acknowledged once they are in the log, and committed a little later.
    package var isLogging = true
}
