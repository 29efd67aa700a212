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
        "A backend serves devices, and its pushes are what push services accept",
        .enabled(if: hasNeeds, "what the backend needs from PyPI cannot be installed"),
        .disabled(if: hasSanitizer, "the daemon is the same"),
        arguments: ["backend", "node", "php"])
    func backend(of part: String) async throws { try await check(part) }

    @Test(
        "A Web Push reaches a browser, and what its user does there reaches the feed",
        .enabled(if: isInstalled("chromium"), "chromium is not here"),
        .enabled(if: hasNeeds, "what the backend needs from PyPI cannot be installed"),
        .disabled(if: hasSanitizer, "the daemon is the same"))
    func web() async throws { try await check("web") }

    @Test(
        "The iOS example downloads, responds, and has the right types",
        .disabled(if: hasSanitizer, "the daemon is the same"))
    func ios() async throws { try await check("ios") }

    @Test(
        "The Android example downloads, responds, and has the right types",
        .enabled(if: isInstalled("kotlinc"), "kotlin is not here"),
        .disabled(if: hasSanitizer, "the daemon is the same"))
    func android() async throws { try await check("android") }

    @Test(
        "The page of phones plays its stories in a browser",
        .enabled(if: isInstalled("chromium"), "chromium is not here"),
        .disabled(if: hasSanitizer, "the daemon is the same"))
    func phones() async throws {
        let (end, output, errors) = try await runAside([
            "timeout", "-k", "30", "900", "\(Files.package)/Scripts/phones", "--check", "--built",
            DaemonProcess.program, "--port", "\(try ObjectServer.freePort())",
        ])
        #expect(end == .exited(0), "\(String(decoding: output, as: UTF8.self))\(errors)")
    }

    private func check(_ part: String) async throws {
        let (end, output, errors) = try await runAside([
            "timeout", "900", "\(Files.package)/Scripts/push-check", "--built", Files.products,
            part,
        ])
        #expect(end == .exited(0), "\(String(decoding: output, as: UTF8.self))\(errors)")
    }
}
