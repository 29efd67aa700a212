import TestSupport
import Testing

/// Misuses of borrowed memory that the compiler must refuse: one to a file in
/// `Tests/CompileFailures`, whose first line says why it is refused. Lifetimes are checked after
/// types, so the files are compiled to SIL.
@Suite struct CompileFailureTests {
    static let folder = Files.package + "/Tests/CompileFailures"

    static let files = Files.names(in: folder).filter { $0.hasSuffix(".swift") }

    @Test("The misuses and their control are there")
    func filesAreThere() {
        #expect(Self.files.contains("Control.swift"))
        #expect(Self.files.count >= 16)
    }

    @Test(
        "Each misuse is refused for the reason it states, and the control is not", arguments: files)
    func compile(file: String) throws {
        let first = try Self.firstLine(of: "\(Self.folder)/\(file)")
        // The compiler replaces its output file: as root it would replace /dev/null by a regular one.
        let folder = TemporaryFolder()
        let (lines, status) = try Child.run(
            "swiftc",
            [
                "-emit-sil", "-o", folder.path("sil"), "-swift-version", "6",
                "-enable-experimental-feature", "Lifetimes", "-I", Files.products + "/Modules",
                "-I", Files.package + "/Sources/CCrypto", "-I", Files.package + "/Sources/CLMDB",
                "-I", Files.package + "/Sources/CZlib",
                "-Xcc",
                "-fmodule-map-file=" + Files.products + "/CChecksum.build/module.modulemap",
                "-Xcc",
                "-fmodule-map-file=" + Files.products + "/CLinux.build/module.modulemap",
                "\(Self.folder)/\(file)",
            ], errors: .output)
        let output = lines.joined(separator: "\n")
        if first == "// compiles" {
            #expect(status == .exited(0), "\(output)")
            return
        }
        let prefix = "// error: "
        try #require(first.hasPrefix(prefix), "the first line says what is expected")
        let reason = String(first.dropFirst(prefix.count))
        #expect(status == .exited(1), "\(output)")
        #expect(
            lines.contains { $0.contains("error: ") && $0.contains(reason) },
            "expected \(reason); the compiler says: \(output)")
    }

    private static func firstLine(of path: String) throws -> String {
        let bytes = try Files.read(path)
        return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
    }
}
