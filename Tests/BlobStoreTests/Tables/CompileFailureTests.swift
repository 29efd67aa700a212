import TestSupport
import Testing

/// Misuses of borrowed memory that the compiler must refuse. The comment above each, in `Tests/CompileFailures`, says with
/// which words. Lifetimes are checked after types, so the files are compiled to SIL.
@Suite struct CompileFailureTests {
    @Test(
        "Each misuse is refused for the reason that stands above it, and the control is not",
        arguments: [("Control", 0), ("Types", 3), ("Lifetimes", 12)])
    func compile(file: String, count: Int) throws {
        let path = "\(Files.package)/Tests/CompileFailures/\(file).swift"
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
                path,
            ], errors: .output)
        let output = lines.joined(separator: "\n")
        let errors = lines.compactMap { line -> (line: Int, message: Substring)? in
            // path:line:column: error: message
            let parts = line.split(separator: ":", maxSplits: 4)
            guard parts.count == 5, parts[3] == " error", let number = Int(parts[1]) else {
                return nil
            }
            return (number, parts[4])
        }
        let misuses = Files.text(path).split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated().filter { $0.element.hasPrefix("// error: ") }
        #expect(misuses.count == count)
        #expect(status == .exited(count == 0 ? 0 : 1), "\(output)")
        // Each ends where the next one begins.
        for (index, misuse) in misuses.enumerated() {
            let end = index + 1 < count ? misuses[index + 1].offset : .max
            let reason = misuse.element.dropFirst("// error: ".count)
            #expect(
                errors.contains {
                    misuse.offset < $0.line && $0.line <= end && $0.message.contains(reason)
                }, "expected \(reason); the compiler says: \(output)")
        }
    }
}
