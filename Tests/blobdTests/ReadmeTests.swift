import BlobStore
import Foundation
import Testing

/// What the README shows is compiled as a reader would compile it: each Swift snippet is the file
/// `main.swift` of a program. The snippet for use in process once had a noncopyable global, which
/// no program may consume, and a picture that was not where the reader stands.
@Suite struct ReadmeTests {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static var readme: String {
        get throws {
            try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        }
    }

    /// The blocks of the README in a language.
    static func blocks(_ language: String) throws -> [String] {
        var blocks: [String] = []
        for part in try readme.components(separatedBy: "```\(language)\n").dropFirst() {
            blocks.append(part.components(separatedBy: "```")[0])
        }
        return blocks
    }

    @Test func eachSwiftSnippetCompilesAsAProgram() throws {
        let snippets = try Self.blocks("swift")
        try #require(snippets.count >= 2)
        for snippet in snippets {
            let (status, output) = try Self.compile(snippet)
            #expect(status == 0, "\(snippet)\n\(output)")
        }
    }

    @Test func aSnippetThatDoesNotCompileIsNoticed() throws {
        #expect(try Self.compile("import BlobClient\nlet client = BlobClient()\n").status != 0)
    }

    @Test func theFilesOfTheReadmeAreWhereTheReaderStands() throws {
        let files =
            try Self.blocks("console").joined().matches(
                of: #/(?:-T |payload=| )([\w./-]+\.(?:jpg|png|gif))/#
            ).map { String($0.1) }
            + Self.blocks("swift").joined().matches(
                of: #/fileURLWithPath: "([^"]+)"/#
            ).map { String($0.1) }
        try #require(files.count >= 3)
        for file in Set(files).subtracting(["fetched.jpg"]) {
            let path = Self.root.appendingPathComponent(file).path
            #expect(FileManager.default.fileExists(atPath: path), "\(file)")
        }
    }

    /// The functions of the snippet for use in process, which stand below as they do there.
    @Test func theLibrarySnippetRuns() throws {
        let folder = try TemporaryFolder()
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

    @Test func theFunctionsThatRanStandInTheReadme() throws {
        let source = try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8)
        let functions = try #require(source.components(separatedBy: "// README: library\n").last)
        #expect(try Self.readme.contains(functions), "the README has another text than this test")
    }

    /// Compiles a program to SIL, behind which the compiler's checks of lifetimes are done.
    private static func compile(_ source: String) throws -> (status: Int32, output: String) {
        let folder = try TemporaryFolder()
        let main = try folder.write("main.swift", Array(source.utf8))
        let output = try folder.createFile("output")
        let products = URL(fileURLWithPath: try CommandProcess.path).deletingLastPathComponent()
            .path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swiftc", "-emit-sil", "-o", "/dev/null", "-swift-version", "6",
            "-I", products + "/Modules",
            "-I", root.path + "/Sources/CCrypto", "-I", root.path + "/Sources/CLMDB",
            "-I", root.path + "/Sources/CZlib",
            "-Xcc", "-fmodule-map-file=" + products + "/CChecksum.build/module.modulemap", main,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        process.waitUntilExit()
        return (
            process.terminationStatus, String(decoding: try folder.read("output"), as: UTF8.self)
        )
    }
}

// README: library
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
    try store.checkReaders()  // clears reader slots of dead processes
}
