import TestSupport
import Testing

/// `Scripts/mutants` itself takes an hour, and is run before a release.
@Suite struct MutantsTests {
    private static let script = "\(Files.package)/Scripts/mutants"

    // One whose place has moved would be planted nowhere, and prove nothing.
    @Test("Each mutant of the table has its place in the sources, once")
    func places() throws {
        let (end, _, errors) = try run([Self.script, "--check"])
        #expect(end == .exited(0), "\(errors)")
        let (_, output, _) = try run([Self.script, "--list"])
        #expect(output.split(separator: UInt8(ascii: "\n")).count >= 60)
    }

    @Test("A mutant that is not in the table is refused")
    func unknown() throws {
        let (end, _, errors) = try run([Self.script, "no-such-mutant"])
        #expect(end == .exited(2))
        #expect(errors.contains("There is no mutant no-such-mutant"))
    }
}
