import TestSupport
import Testing

/// `Examples/python/backend.py`, with a daemon and stand-ins of both push services.
@Suite(.waiting) struct PushBackendTests {
    /// Whether what it needs from PyPI is there, or can be installed: a few seconds, once for each build folder.
    private static let hasNeeds: Bool = {
        (try? run(["timeout", "60", "\(Files.package)/Scripts/push-check", "--install"]))?.end
            == .exited(0)
    }()

    @Test(
        "The Python backend's pushes are what APNs and FCM accept",
        .enabled(if: hasNeeds && !hasSanitizer))
    func pushes() async throws {
        let (end, _, errors) = try await runAside([
            "timeout", "120", "\(Files.package)/Scripts/push-check", "--built",
            DaemonProcess.program,
        ])
        #expect(end == .exited(0), "\(errors)")
    }
}
