import TestSupport
import Testing

/// The way of a push to a phone, as the examples walk it.
@Suite(.waiting) struct PushExampleTests {
    /// Whether what the backends need is there, or can be installed: a few seconds, once for each build folder.
    private static let hasNeeds: Bool = {
        (try? run(["timeout", "300", "\(Files.package)/Scripts/push-check", "--install"]))?.end
            == .exited(0)
    }()

    @Test(
        "A backend serves devices, and its pushes are what APNs and FCM accept",
        .enabled(if: hasNeeds && !hasSanitizer), arguments: ["backend", "node", "php"])
    func backend(of part: String) async throws { try await check(part) }

    @Test(
        "The iOS example downloads, responds, and has the right types", .enabled(if: !hasSanitizer))
    func ios() async throws { try await check("ios") }

    @Test(
        "The Android example downloads, responds, and has the right types",
        .enabled(
            if: !hasSanitizer
                && (try? run(["/bin/sh", "-c", "kotlinc -version"]))?.end == .exited(0),
            "kotlin is not here"))
    func android() async throws { try await check("android") }

    private func check(_ part: String) async throws {
        let (end, output, errors) = try await runAside([
            "timeout", "900", "\(Files.package)/Scripts/push-check", "--built", Files.products,
            part,
        ])
        #expect(end == .exited(0), "\(String(decoding: output, as: UTF8.self))\(errors)")
    }
}
