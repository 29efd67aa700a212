import TestSupport
import Testing

/// The socket is there only as it shall be: with its mode, bound under another name, listening.
@Suite(.waiting, .enabled(if: Machine.canTrace, "strace is missing or not allowed"))
struct SocketModeTests {
    /// The mode was once set after `listen`: for a moment every user that the umask allowed could connect.
    @Test("It has its mode and its group before it is bound and listens, and its name after that")
    func order() throws {
        let folder = TemporaryFolder()
        let trace = "\(folder)/trace"
        let daemon = try DaemonProcess(
            ["--socket-mode", "0620"], in: folder,
            under: [
                "/usr/bin/strace", "-D", "-f", "-qq", "-o", trace, "-e",
                "trace=fchmod,fchmodat,chmod,bind,listen,rename,renameat,renameat2",
            ])
        #expect(daemon.stop() == 0)
        // The store makes files of its own before.
        let calls = Files.text(trace).split(separator: "\n")
        func place(_ call: String, _ words: String) -> Int? {
            calls.firstIndex { $0.contains(" \(call)(") && $0.contains(words) }
        }
        let bind = try #require(place("bind", "AF_UNIX"))
        let mode = try #require(place("fchmod", "0620"))
        let listen = try #require(place("listen", ""))
        let rename = try #require(calls.lastIndex { $0.contains(" rename") && $0.contains("/s\"") })
        #expect(mode < bind && bind < listen && listen < rename, "\(calls)")
        #expect(!calls[listen...].contains { $0.contains("chmod") }, "\(calls)")
    }
}
