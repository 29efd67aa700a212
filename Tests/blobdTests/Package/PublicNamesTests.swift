import Foundation
import TestSupport
import Testing

/// A program that imports all the libraries can name every public type of theirs: no name is given
/// twice. `ChangeFeed` was the name of a type in two modules, and `BlobClient` that of a module and
/// of its type, so that a program which imported both could name neither.
@Suite struct PublicNamesTests {
    static let modules = ["BlobJSON", "BlobStore", "BlobProtocol", "BlobClient"]
    static let root = URL(fileURLWithPath: Files.package)

    @Test func noNameIsGivenTwice() throws {
        var owners: [String: String] = [:]
        for module in Self.modules {
            for name in try Self.publicTypes(of: module) {
                if let other = owners.updateValue(module, forKey: name) {
                    Issue.record("\(name) is a type of \(other) and of \(module)")
                }
                // The store's module and type have one name. Its types can be named without it.
                if Self.modules.contains(name), name != "BlobStore" {
                    Issue.record("\(name) is a module and a type of \(module)")
                }
            }
        }
        #expect(owners.count > 100, "the sources were not read")
    }

    private static let kinds: Set<Substring> = [
        "struct", "class", "actor", "enum", "protocol", "typealias",
    ]

    private static func publicTypes(of module: String) throws -> Set<String> {
        let folder = root.appendingPathComponent("Sources/\(module)")
        let files = try #require(
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var names: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            for line in try Files.read(file.path).split(separator: UInt8(ascii: "\n")) {
                // Of a declaration at a line's beginning, after attributes and modifiers.
                guard line.first == UInt8(ascii: "p") || line.first == UInt8(ascii: "@") else {
                    continue
                }
                let words = String(decoding: line.prefix(200), as: UTF8.self).split(separator: " ")
                guard let place = words.firstIndex(of: "public"), place <= 1,
                    !words.contains("import"),
                    let kind = words[place...].firstIndex(where: kinds.contains),
                    kind + 1 < words.count
                else { continue }
                names.insert(String(words[kind + 1].prefix { $0.isLetter || $0.isNumber }))
            }
        }
        return names
    }
}
