import Bytes

/// What is wrong with a message: everything a problem document says about it. The detail is made when an error is.
public struct ProtocolError: Error, Sendable, Hashable {
    /// The stable name of what is wrong.
    public let code: ErrorCode
    /// One sentence for people.
    public let detail: String
    /// The limit that was passed, where there is one.
    public let limit: UInt64?
    /// What the problem document says besides.
    public var members: [ProblemMember] = []

    /// The status of the answer: HTTP's number, in both dialects.
    public let status: UInt16

    /// Whether the connection ends after the answer: what follows would be read wrongly.
    public var endsConnection: Bool { code == .reserved || code == .version }

    /// An error that says `detail`. Without a status it has the code's own.
    public init(_ code: ErrorCode, _ detail: String, status: UInt16? = nil, limit: Int? = nil) {
        self.code = code
        self.status = status ?? code.status
        self.detail = detail
        self.limit = limit.map { UInt64(clamping: $0) }
    }
}

/// Throws an error unless something holds. Its words are made only then.
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

/// A member that a problem document has beside the usual ones.
public struct ProblemMember: Sendable, Hashable {
    /// What it says.
    public enum Value: Sendable, Hashable {
        /// A string.
        case text(String)
        /// A list of strings.
        case texts([String])
        /// A number.
        case number(UInt64)
        /// Nothing.
        case null
    }

    /// Its name, which needs no escapes.
    public let name: String
    /// What it says.
    public let value: Value

    /// A member.
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
