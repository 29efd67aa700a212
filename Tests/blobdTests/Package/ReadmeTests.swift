import BlobStore
import Foundation
import TestSupport
import Testing

/// What SWIFT.md and the libraries' articles show is compiled as a reader would compile it: each Swift
/// snippet is the file `main.swift` of a program. The snippet for use in process once had a noncopyable global, which
/// no program may consume, and a picture that was not where the reader stands.
@Suite(.waiting) struct ReadmeTests {

    static let article = Files.text(
        "\(Files.package)/Sources/BlobStore/BlobStore.docc/GettingStarted.md")

    /// The texts of a document's blocks in a language.
    private static func blocks(_ language: String, of path: String = "README.md") -> [String] {
        DocumentBlock.all(in: path, kind: language).map(\.text)
    }

    /// SWIFT.md and the libraries' articles.
    static let documents =
        ["docs/SWIFT.md"]
        + ["BlobStore", "BlobProtocol", "BlobClient"].map {
            "Sources/\($0)/\($0).docc/GettingStarted.md"
        }

    @Test(arguments: documents) func eachSwiftSnippetCompilesAsAProgram(document: String) throws {
        let snippets = Self.blocks("swift", of: document)
        try #require(!snippets.isEmpty, "\(document) has no snippet")
        for snippet in snippets {
            let (status, output) = try Self.compile(snippet)
            #expect(status == 0, "\(snippet)\n\(output)")
        }
    }

    /// Symbols that the documentation's links and comments name are there.
    @Test func theDocumentationHasNoWarnings() throws {
        let folder = TemporaryFolder()
        let (end, output, errors) = try run([
            "\(Files.package)/Scripts/docs", "--built", Files.products, "--output", folder.path,
        ])
        #expect(end == .exited(0), "\(String(decoding: output, as: UTF8.self))\(errors)")
        #expect(folder.names.count == 3)
    }

    @Test func aSnippetThatDoesNotCompileIsNoticed() throws {
        #expect(try Self.compile("import BlobClient\nlet client = BlobClient()\n").status != 0)
    }

    /// Some built for minutes, or installed packages, before they said how they are used.
    @Test func everyScriptSaysHowItIsUsedAndDoesNothing() throws {
        let folders = ["Scripts", "Benchmarks"].map { "\(Files.package)/\($0)" }
        let found = try run(["find"] + folders + ["-maxdepth", "1", "-type", "f", "-executable"])
        let scripts = String(decoding: found.output, as: UTF8.self).split(separator: "\n")
        try #require(scripts.count > 15)
        for script in scripts {
            let (end, output, errors) = try run([String(script), "--help"])
            let name = script.dropFirst(Files.package.count + 1)
            #expect(end == .exited(0) && errors == "", "\(name): \(errors)")
            #expect(String(decoding: output, as: UTF8.self).hasPrefix("Usage: \(name)"), "\(name)")
        }
    }

    /// Scripts that run for minutes are not run by the tests of the documents' commands.
    @Test func eachScriptThatADocumentRunsExistsAndTakesItsOptions() throws {
        var count = 0
        for page in try Self.pages() {
            for command in Session.all(in: page).flatMap(\.steps).map(\.command) {
                guard
                    let use = command.firstMatch(
                        of: #/^(?:\./)?((?:Scripts|Benchmarks|Packaging)/[\w-]+)([^#]*)/#)
                else { continue }
                let (end, help, _) = try run(["\(Files.package)/\(use.1)", "--help"])
                #expect(end == .exited(0), "\(page): \(command)")
                for option in use.2.matches(of: #/ (--[a-z-]+)/#).map(\.1) {
                    let exists = String(decoding: help, as: UTF8.self).contains(option)
                    #expect(exists, "\(page): \(command)")
                }
                count += 1
            }
        }
        #expect(count > 15)
    }

    /// `Scripts/docs --site` checks the pages of the site only, and needs MkDocs.
    @Test func eachLinkLeadsToAFileAndAHeading() throws {
        var count = 0
        for page in try Self.pages() where !page.contains(".docc/") {
            let folder = page.split(separator: "/").dropLast().joined(separator: "/")
            let text = Self.withoutBlocks(Files.text("\(Files.package)/\(page)"))
            for link in text.matches(of: #/(?:\]\(|src=")([^)#":]*)(?:#([^)"]+))?[)"]/#) {
                let path = "\(Files.package)/" + (link.1 == "" ? page : "\(folder)/\(link.1)")
                #expect(Files.exists(path), "\(page): \(link.0)")
                guard let anchor = link.2 else { continue }
                let headings = Self.withoutBlocks(Files.text(path)).matches(of: #/(?m)^#+ (.*)$/#)
                #expect(
                    headings.contains { Self.anchor(of: $0.1) == anchor }, "\(page): \(link.0)")
                count += 1
            }
        }
        #expect(count > 200)
    }

    /// The Markdown files of the package.
    private static func pages() throws -> [String] {
        let found = try run(["find", Files.package, "-name", "*.md", "-not", "-path", "*/.*"])
        return String(decoding: found.output, as: UTF8.self).split(separator: "\n").map {
            String($0.dropFirst(Files.package.count + 1))
        }
    }

    private static func withoutBlocks(_ text: String) -> String {
        text.replacing(#/(?ms)^```.*?^```$/#, with: "")
    }

    /// A heading's anchor, as GitHub and MkDocs make it.
    private static func anchor(of heading: Substring) -> String {
        String(
            heading.lowercased().filter {
                $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_"
            }
        ).replacing(" ", with: "-")
    }

    @Test func theFilesOfTheReadmeAreWhereTheReaderStands() throws {
        let files =
            Self.blocks("console").joined().matches(
                of: #/(?:-T |payload=| )([\w./-]+\.(?:jpg|png|gif))/#
            ).map { String($0.1) }
            + Self.blocks("swift", of: "docs/SWIFT.md").joined().matches(
                of: #/fileURLWithPath: "([^"]+)"/#
            ).map { String($0.1) }
        try #require(files.count >= 3)
        for file in Set(files).subtracting(["fetched.jpg"]) {
            #expect(Files.exists("\(Files.package)/\(file)"), "\(file)")
        }
    }

    /// The functions of the snippet for use in process, which stand below as they do there.
    @Test func theLibrarySnippetRuns() throws {
        let folder = TemporaryFolder()
        let store = try BlobStore.open(at: folder.path("store"))
        let now = Timestamp(milliseconds: 1_796_083_200_000)
        let picture = [UInt8](repeating: 7, count: 100_000)
        #expect(try publishAndRead(picture, store, asOf: now) == 100_000)
        try maintain(store, asOf: now)
        #expect(try store.withPayload(for: "42", asOf: now) { $0.byteCount } == 100_000)
        try maintain(store, asOf: now.adding(seconds: 86_400))
        let statistics = try store.statistics()
        #expect(statistics.notifications == 0)
        #expect(statistics.orphanBlobs == 0)
    }

    @Test func theFunctionsThatRanStandInTheDocument() throws {
        let source = Files.text(#filePath)
        let functions = try #require(source.components(separatedBy: "// Article: library\n").last)
        #expect(Self.article.contains(functions), "the article has another text than this test")
    }

    /// Compiles a program to SIL, after which the compiler's checks of lifetimes are done.
    private static func compile(_ source: String) throws -> (status: Int32, output: String) {
        let folder = TemporaryFolder()
        let main = try folder.write("main.swift", Array(source.utf8))
        let (end, output, errors) = try run(
            [
                "swiftc", "-emit-sil", "-o", folder.path("sil"), "-swift-version", "6",
                "-I", Files.products + "/Modules",
                "-I", Files.package + "/Sources/CCrypto", "-I", Files.package + "/Sources/CLMDB",
                "-I", Files.package + "/Sources/CZlib",
                main,
            ]
                + ["CChecksum", "CLinux"].flatMap {
                    ["-Xcc", "-fmodule-map-file=\(Files.products)/\($0).build/module.modulemap"]
                })
        return (end.code, String(decoding: output, as: UTF8.self) + errors)
    }
}

// Article: library
/// Publishes a picture and reads it back. Returns its byte count.
func publishAndRead(_ picture: [UInt8], _ store: BlobStore, asOf now: Timestamp) throws -> Int? {
    var writer = store.makePayloadWriter()
    try writer.append(picture.span.bytes)
    let payload = try writer.finish(mediaType: "image/jpeg")
    let day = now.adding(seconds: 86_400)
    try store.publish(Publication(id: "42", payload: payload, expiry: .at(day)), asOf: now)

    // A view of the mapped file: two lookups, no copy. Nil: not found or expired.
    return try store.withPayload(for: "42", asOf: now) { payload in
        try payload.forEachPiece { piece in print(piece.byteCount) }
        return payload.byteCount
    }
}

/// Reclaims space. The daemon does this by itself. A program with its own store calls it about once a
/// second.
func maintain(_ store: BlobStore, asOf now: Timestamp) throws {
    while try store.sweepExpired(asOf: now, limit: 1_000).more {}  // removes expired notifications
    while try store.freeOrphans(byteCountMax: 8 << 20).more {}  // frees their pages
    try store.trimFile()
    while try store.reclaimFreePages(microsecondsMax: 5_000).more {}  // gives the disk back
}
