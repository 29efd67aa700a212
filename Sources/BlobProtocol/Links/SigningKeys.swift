import Bytes
import Hashing

/// The keys that sign and verify links. The first one signs; all verify.
public struct SigningKeys: Sendable {
    /// The maximum size of a key's id, in bytes.
    public static let idByteCountMax = 32
    /// The size of a key, in bytes.
    public static let keyByteCountRange = 32...256
    /// The maximum number of keys in a file.
    public static let keyCountMax = 16
    /// The maximum size of a file, in bytes.
    public static let fileByteCountMax = 64 << 10

    struct Key: Sendable {
        let id: [UInt8]
        let code: HMAC
    }

    let keys: [Key]

    /// Parses a file's text: one key per line, `ID BASE64`. No error reveals anything about a key itself.
    public init(parsing text: [UInt8]) throws(SigningKeyError) {
        guard text.count <= Self.fileByteCountMax else {
            throw SigningKeyError(
                "the file has \(text.count) bytes; the limit is \(Self.fileByteCountMax)")
        }
        var keys: [Key] = []
        let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let words = line.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            guard let id = words.first, id.first != UInt8(ascii: "#") else { continue }
            func refuse(_ reason: String) -> SigningKeyError {
                SigningKeyError("line \(index + 1): \(reason)")
            }
            guard words.count == 2 else {
                throw refuse("must be an id and a key in base64, separated by a blank")
            }
            guard id.count <= Self.idByteCountMax, id.allSatisfy(PercentCoding.isUnreserved) else {
                throw refuse(
                    "the id must have 1 to \(Self.idByteCountMax) of A-Z a-z 0-9 - . _ ~")
            }
            guard let bytes = Base64.decode(Array(words[1])) else {
                throw refuse("the key is not base64")
            }
            guard Self.keyByteCountRange.contains(bytes.count) else {
                throw refuse(
                    "the key has \(bytes.count) bytes; it must have \(Self.keyByteCountRange.lowerBound) to \(Self.keyByteCountRange.upperBound)"
                )
            }
            guard !keys.contains(where: { $0.id == Array(id) }) else {
                throw refuse("the id \(String(decoding: id, as: UTF8.self)) is given twice")
            }
            keys.append(Key(id: Array(id), code: HMAC(key: bytes)))
        }
        guard !keys.isEmpty else { throw SigningKeyError("there is no key") }
        guard keys.count <= Self.keyCountMax else {
            throw SigningKeyError("there are \(keys.count) keys; the limit is \(Self.keyCountMax)")
        }
        self.keys = keys
    }

    /// The ids of the keys; the first key signs.
    public var ids: [String] { keys.map(\.name) }

    /// Which keys were added, removed or replaced, and which there are now, in words; nil if nothing has changed.
    package static func changes(from old: SigningKeys?, to new: SigningKeys?) -> String? {
        let (before, after) = (old?.keys ?? [], new?.keys ?? [])
        func key(_ id: [UInt8], in keys: [Key]) -> Key? { keys.first { $0.id == id } }
        var lists: [(verb: String, keys: [Key])] = []
        lists.append(("added", after.filter { key($0.id, in: before) == nil }))
        lists.append(("removed", before.filter { key($0.id, in: after) == nil }))
        lists.append(
            ("replaced", after.filter { key($0.id, in: before)?.isSame(as: $0) == false }))
        let parts = lists.filter { !$0.keys.isEmpty }
            .map { "\($0.verb) \($0.keys.map(\.name).joined(separator: ", ")); " }
        // Their order tells which one signs.
        guard !parts.isEmpty || before.map(\.id) != after.map(\.id) else { return nil }
        let names = after.map(\.name).joined(separator: ", ")
        return parts.joined() + "now \(names.isEmpty ? "none" : names)"
    }
}

extension SigningKeys.Key {
    fileprivate var name: String { String(decoding: id, as: UTF8.self) }

    /// Keys with the same codes are the same.
    fileprivate func isSame(as other: Self) -> Bool {
        let (one, two) = (code.code(of: code.text), other.code.code(of: other.code.text))
        return one.indices.allSatisfy { one[$0] == two[$0] }
    }
}

/// What is wrong with a key file, as a sentence.
public struct SigningKeyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String
    package init(_ description: String) { self.description = description }
}
