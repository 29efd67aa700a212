import Foundation
import TestSupport
import Testing

/// A program that imports all the libraries can name every public type of theirs: no name is given
/// twice. `ChangeFeed` was the name of a type in two modules, and `BlobClient` that of a module and
/// of its type, so that a program which imported both could name neither.
@Suite struct PublicNamesTests {
    static let modules = ["BlobJSON", "BlobStore", "BlobProtocol", "BlobClient", "LoadGenerator"]
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

    private static func publicTypes(of module: String) throws -> Set<String> {
        let folder = root.appendingPathComponent("Sources/\(module)")
        let files = try #require(
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var names: Set<String> = []
        let declaration =
            #/^(?:@\w+(?:\([^)]*\))? )?public (?!import )(?:\w+ )*?(?:struct|class|actor|enum|protocol|typealias) (\w+)/#
        for case let file as URL in files where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if let match = line.firstMatch(of: declaration) { names.insert(String(match.1)) }
            }
        }
        return names
    }
}
