import TestSupport
import Testing

/// Seeds of `blobd-simulator`: leaders, followers and their bucket, through every fault.
///
/// It must not be a dependency of a test target: it would be linked into the tests, and its disk and clock would take
/// the place of theirs. `swift build --build-tests` builds it all the same.
@Suite struct SimulatorTests {
    /// Runs the simulator.
    ///
    /// - Returns: what it printed.
    private func simulate(_ arguments: String...) throws -> (end: ProcessEnd, output: String) {
        let folder = TemporaryFolder()
        let path = folder.path("output")
        let process = try spawn(
            ["\(Files.products)/blobd-simulator"] + arguments, output: .file(path),
            errors: .file(path))
        return (reap(process), Files.text(path))
    }

    @Test("Twenty-five runs find nothing")
    func seeds() throws {
        let (end, output) = try simulate("--seeds", "1...25", "--all")
        #expect(end == .exited(0), "\(output)")
        // Among them is what the collector once deleted a live payload for: seed 22 found it.
        #expect(output.contains("deleted evicted bytes that were published again"))
    }

    /// What chance decides that the seed does not, an order of a dictionary or a nonce, makes a finding one that nobody
    /// can look at again.
    @Test("A seed repeats its run exactly", arguments: [3, 14, 41])
    func traces(seed: Int) throws {
        let first = try simulate("--seed", "\(seed)", "--trace").output
        #expect(first.contains("event 10 "))
        #expect(try simulate("--seed", "\(seed)", "--trace").output == first)
    }
}
