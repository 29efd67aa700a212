import Testing

/// All tests of a suite ask one daemon, which is started once, with the suite.
///
/// The suite's instances take it from ``daemon()``. They run beside each other: none may change what another asks for, and
/// none may stop it.
struct OneDaemon: SuiteTrait, TestScoping {
    @TaskLocal private static var shared: DaemonProcess?

    /// The daemon of the suite.
    static func daemon() throws -> DaemonProcess {
        try #require(shared, "the suite lacks .oneDaemon")
    }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        test.isSuite ? self : nil
    }

    func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Self.$shared.withValue(try DaemonProcess()) { try await function() }
    }
}

extension Trait where Self == OneDaemon {
    static var oneDaemon: Self { OneDaemon() }
}
