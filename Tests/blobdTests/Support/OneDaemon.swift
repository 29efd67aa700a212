import Testing

/// All cases of a test with arguments ask one daemon, which is started once.
///
/// The suite takes it from ``daemon``. The cases run beside each other: none may change what another
/// asks for, and none may stop it.
struct OneDaemon: TestTrait, TestScoping {
    @TaskLocal static var shared: DaemonProcess?

    /// The daemon of all cases, or a new one.
    static func daemon() throws -> DaemonProcess { try shared ?? DaemonProcess() }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil ? self : nil
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
