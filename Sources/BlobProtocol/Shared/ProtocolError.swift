import Bytes

/// An error in a message, with everything that a problem document states about it. Creating it formats the detail.
public struct ProtocolError: Error, Sendable, Hashable {
    /// The stable name of the error.
    public let code: ErrorCode
    /// One sentence for display.
    public let detail: String
    /// The exceeded limit, if there is one.
    public let limit: UInt64?
    /// Further members of the problem document.
    public var members: [ProblemMember] = []

    /// The HTTP status of the answer, in both dialects.
    public let status: UInt16

    /// Whether the connection ends after the answer, because what follows would be misread.
    public var endsConnection: Bool { code == .reserved || code == .version }

    /// Creates an error. Without a status it has that of the code.
    public init(_ code: ErrorCode, _ detail: String, status: UInt16? = nil, limit: Int? = nil) {
        self.code = code
        self.status = status ?? code.status
        self.detail = detail
        self.limit = limit.map { UInt64(clamping: $0) }
    }
}

/// Throws an error unless a condition holds. Its text is only made then.
@inlinable
@inline(__always)
package func require(
    _ condition: Bool, _ code: ErrorCode, _ detail: @autoclosure () -> String, limit: Int? = nil
) throws(ProtocolError) {
    guard condition else { throw ProtocolError(code, detail(), limit: limit) }
}

/// Throws an error unless there is a value.
@inlinable
@inline(__always)
package func require<Value>(
    _ value: Value?, _ code: ErrorCode, _ detail: @autoclosure () -> String
) throws(ProtocolError) -> Value {
    guard let value else { throw ProtocolError(code, detail()) }
    return value
}

/// An additional member of a problem document.
public struct ProblemMember: Sendable, Hashable {
    /// The value of a member.
    public enum Value: Sendable, Hashable {
        /// A string.
        case text(String)
        /// A list of strings.
        case texts([String])
        /// A number.
        case number(UInt64)
        /// `null`.
        case null
    }

    /// Its name, which needs no escapes.
    public let name: String
    /// Its value.
    public let value: Value

    /// Creates a member.
    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }
}

/// The body of an error's answer, in both dialects: a problem document (RFC 9457).
public enum Problem {
    /// Its media type.
    public static let mediaType: StaticString = "application/problem+json"

    /// Appends the document.
    public static func compose(_ error: ProtocolError, into out: inout [UInt8]) {
        out.object {
            $0.add("type", "about:blank")
            $0.add("title", error.code.title)
            $0.add("status", Int(error.status))
            $0.add("code", error.code.rawValue)
            $0.add("detail", error.detail)
            if let limit = error.limit { $0.add("limit", limit) }
            for member in error.members {
                switch member.value {
                case .text(let text): $0.add(member.name, text)
                case .texts(let texts): $0.add(member.name, texts)
                case .number(let number): $0.add(member.name, number)
                case .null: $0.add(member.name, orNull: nil)
                }
            }
        }
    }
}
