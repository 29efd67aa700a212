/// One minified JSON value that has been checked, as bytes.
public struct JSONFragment: Sendable, Hashable {
    /// Its UTF-8.
    public let bytes: [UInt8]

    /// A value, minified.
    public init(_ value: JSONValue) {
        var bytes: [UInt8] = []
        value.append(to: &bytes)
        self.bytes = bytes
    }

    /// Bytes that were a fragment's before.
    public init(checked bytes: [UInt8]) { self.bytes = bytes }

    /// The value, parsed anew, of any length. Throws only when the bytes were never a fragment's, or
    /// the value was made deeper than 64 levels.
    public func value() throws(JSONError) -> JSONValue {
        var limits = JSONLimits()
        limits.byteCountMax = .max
        limits.memberCountMax = .max
        return try .parse(bytes.span.bytes, limits: limits)
    }
}
