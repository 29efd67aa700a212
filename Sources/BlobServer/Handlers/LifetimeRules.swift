import BlobProtocol
import BlobStore
import Bytes

/// What publishers may say about how long a notification lives.
struct LifetimeRules: Sendable {
    private let secondsMax: Int64
    /// How long it lives when nothing is said, in seconds.
    let usualSeconds: Int64

    init(_ limits: DaemonLimits) {
        secondsMax = limits.ttlSecondsMax
        usualSeconds = limits.defaultTTLSeconds
    }

    /// What was chosen, checked against the limits and the time; nil when nothing was said.
    func chosen(
        ttlSeconds: Int64?, expiryMilliseconds: Int64?, asOf now: Timestamp
    ) throws(ProtocolError) -> Expiry? {
        if let ttlSeconds {
            guard ttlSeconds <= secondsMax else {
                throw ProtocolError(
                    .badTTL,
                    "a ttl of \(ttlSeconds) s is too long; the limit is \(secondsMax) s (max-ttl)",
                    limit: Int(clamping: secondsMax))
            }
            return .after(seconds: ttlSeconds)
        }
        guard let expiryMilliseconds else { return nil }
        return .at(try expiry(milliseconds: expiryMilliseconds, asOf: now))
    }

    /// A moment that was given, checked.
    func expiry(
        milliseconds: Int64, asOf now: Timestamp
    ) throws(ProtocolError) -> Timestamp {
        guard milliseconds > now.milliseconds else {
            throw ProtocolError(
                .badExpiry,
                "the expiry \(Self.text(milliseconds)) must be after the current time, \(Self.text(now.milliseconds))"
            )
        }
        guard milliseconds <= now.adding(seconds: secondsMax).milliseconds else {
            throw ProtocolError(
                .badExpiry,
                "the expiry is \((milliseconds - now.milliseconds) / 1_000) s away; the limit is \(secondsMax) s (max-ttl)",
                limit: Int(clamping: secondsMax))
        }
        return Timestamp(milliseconds: milliseconds)
    }

    /// A time as RFC 3339 writes it, for an error's words.
    private static func text(_ milliseconds: Int64) -> String {
        var bytes: [UInt8] = []
        RFC3339.append(milliseconds, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
