import Foundation
import TestSupport
import Testing

/// A signal to a daemon that is not ready. SIGHUP ended one that still read its configuration.
@Suite(.waiting, .disabled(if: hasSanitizer, "it loads a library before the others"))
struct SignalAtStartTests {
    private let folder = TemporaryFolder()

    /// The first time that the program looks up a group, which its configuration names, it gets a signal.
    private static let library = """
        #include <grp.h>
        #include <signal.h>
        #include <stdlib.h>
        #include <unistd.h>

        // The threads of these tests have all signals blocked, and their children inherit that.
        __attribute__((constructor)) static void begin(void) {
            sigset_t none;
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &none, NULL);
        }

        struct group *getgrnam(const char *name) {
            static struct group group;
            const char *number = getenv("RAISED");
            if (number) kill(getpid(), atoi(number));
            unsetenv("RAISED");
            group.gr_gid = getegid();
            return &group;
        }
        """

    /// A daemon that gets a signal as it reads its configuration.
    private func daemon(getting signal: Int32) throws -> DaemonProcess {
        let library = "\(folder)/signal.so"
        let source = try folder.write("signal.c", Array(Self.library.utf8))
        let (end, _, errors) = try run([
            "cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source,
        ])
        try require(end == .exited(0), "cc did not compile the library: \(errors)")
        return try DaemonProcess(
            ["--socket-group", "some"], in: folder,
            under: ["env", "LD_PRELOAD=\(library)", "RAISED=\(signal)"])
    }

    @Test("SIGHUP reloads once it is ready")
    func reload() throws {
        let daemon = try daemon(getting: SIGHUP)
        try daemon.waitForLog("SIGHUP: reloaded; no setting changed")
        #expect(daemon.stop() == 0)
    }

    @Test("SIGTERM ends it")
    func stop() throws {
        let failure = #expect(throws: DaemonProcess.StartFailure.self) {
            try daemon(getting: SIGTERM)
        }
        #expect(failure?.status == 128 + SIGTERM)
    }
}
