/// Why a text was refused.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    public enum Kind: Sendable, Hashable {
        /// It is not JSON.
        case syntax
        /// It is not UTF-8.
        case notUTF8
        /// An object has two members of one name.
        case duplicateKey
        /// Arrays and objects are nested deeper than the limit.
        case tooDeep
        /// It has more bytes than the limit.
        case tooLong
        /// It has more members and elements than the limit.
        case tooMany
    }

    /// What is wrong.
    public let kind: Kind
    /// The byte offset of the error.
    public let offset: Int
    /// One sentence for people, with the limit that was exceeded.
    public let description: String
}

/// The limits of a parser.
public struct JSONLimits: Sendable, Hashable {
    /// The greatest `depthMax` that has an effect.
    static let depthLargest = 64

    /// Bytes of the text.
    public var byteCountMax = 65_536
    /// Nesting depth of arrays and objects. More than 64 counts as 64, because values are walked by
    /// recursion.
    public var depthMax = JSONLimits.depthLargest
    /// Members of all objects and elements of all arrays together.
    public var memberCountMax = 8_192

    /// The defaults.
    public init() {}
}
