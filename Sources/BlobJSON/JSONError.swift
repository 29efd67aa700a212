/// Why a text is not taken.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    public enum Kind: Sendable, Hashable {
        /// It is not JSON.
        case syntax
        /// It is not UTF-8.
        case notUTF8
        /// An object has two members of one name.
        case duplicateKey
        /// Arrays and objects are within each other deeper than the limit.
        case tooDeep
        /// It has more bytes than the limit.
        case tooLong
        /// It has more members and elements than the limit.
        case tooMany
    }

    /// What is wrong.
    public let kind: Kind
    /// Where, in bytes from the start.
    public let offset: Int
    /// One sentence for people: names the thing and the limit.
    public let description: String
}

/// What a parser takes at the most.
public struct JSONLimits: Sendable, Hashable {
    /// The most levels that any limit can allow.
    static let depthLargest = 64

    /// Bytes of the text.
    public var byteCountMax = 65_536
    /// Arrays and objects within each other. More than 64 count as 64: values are walked by
    /// recursion, and whoever is handed one must be able to.
    public var depthMax = JSONLimits.depthLargest
    /// Members of all objects and elements of all arrays together.
    public var memberCountMax = 8_192

    /// The defaults.
    public init() {}
}
