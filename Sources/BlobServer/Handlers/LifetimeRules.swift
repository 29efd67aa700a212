import BlobProtocol
import BlobStore
import Bytes

struct LifetimeRules: Sendable {
    /// How long an unreferenced blob is kept unless its publisher specifies a time, in seconds.
    static let holdSeconds: Int64 = 3_600

    private let secondsMax: Int64
    let usualSeconds: Int64

    init(_ limits: DaemonLimits) {
        secondsMax = limits.ttlSecondsMax
        usualSeconds = limits.defaultTTLSeconds
    }

    /// What a `ttl` may be.
    var ttlSecondsBounds: ClosedRange<Int64> { 1...secondsMax }

    /// The chosen expiry, checked against the limits and the time; nil if none was given.
    func chosen(
        _ lifetime: Lifetime, asOf now: Timestamp
    ) throws(ProtocolError) -> Expiry? {
        if let ttlSeconds = lifetime.ttlSeconds {
            try require(
                ttlSeconds <= secondsMax, .badTTL,
                "a ttl of \(ttlSeconds) s (\(Self.text(seconds: ttlSeconds))) is too long; the limit is \(Self.text(seconds: secondsMax)) (max-ttl)",
                limit: Int(clamping: secondsMax))
            return .after(seconds: ttlSeconds)
        }
        guard let milliseconds = lifetime.expiryMilliseconds else { return nil }
        return .at(try expiry(milliseconds: milliseconds, asOf: now))
    }

    func expiry(
        milliseconds: Int64, asOf now: Timestamp
    ) throws(ProtocolError) -> Timestamp {
        try require(
            milliseconds > now.milliseconds, .badExpiry,
            "the expiry \(RFC3339.text(milliseconds)) must be after the current time, \(RFC3339.text(now.milliseconds))"
        )
        try require(
            milliseconds <= now.adding(seconds: secondsMax).milliseconds, .badExpiry,
            "the expiry is \(Self.text(seconds: (milliseconds - now.milliseconds) / 1_000)) away; the limit is \(Self.text(seconds: secondsMax)) (max-ttl)",
            limit: Int(clamping: secondsMax))
        return Timestamp(milliseconds: milliseconds)
    }

    /// Seconds as days, hours, minutes and seconds, for error messages: `30d`, `1h 30m`.
    static func text(seconds: Int64) -> String {
        var rest = seconds
        var words: [String] = []
        for (length, unit) in [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")] as [(Int64, _)] {
            if rest >= length { words.append("\(rest / length)\(unit)") }
            rest %= length
        }
        return words.isEmpty ? "0s" : words.joined(separator: " ")
    }
}
