/// The rules for how long a notification shall live, as far as they need no clock and no setting.
public enum Lifetime {
    /// Checks a lifetime and an expiry, of which at most one may be given. Throws `bad_ttl` for a
    /// lifetime under one second and `bad_expiry` for both at once or a time outside of the years
    /// 1970 to
    /// 9999. The longest lifetime and a time in the past are for the daemon to check.
    public static func check(
        ttlSeconds: Int64?, expiryMilliseconds: Int64?
    ) throws(ProtocolError) {
        if let ttlSeconds {
            guard expiryMilliseconds == nil else {
                throw ProtocolError(
                    .badExpiry, "a ttl and an expiry exclude each other")
            }
            guard ttlSeconds >= 1 else {
                throw ProtocolError(
                    .badTTL, "a ttl of \(ttlSeconds) s is too short; the minimum is 1 s")
            }
        }
        if let expiryMilliseconds {
            let max = WireLimits.expiryMillisecondsMax
            guard expiryMilliseconds >= 0, expiryMilliseconds <= max else {
                throw ProtocolError(
                    .badExpiry,
                    "an expiry of \(expiryMilliseconds) ms must be 0 to \(max), the years 1970 to 9999"
                )
            }
        }
    }
}
