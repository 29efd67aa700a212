import Glibc
import TestSupport
import Testing

@Suite(.waiting) struct StandardDescriptorTests {
    private let folder = TemporaryFolder()

    /// The lock of the folder became descriptor 1, and got the ready line.
    @Test("A daemon without standard descriptors writes no line to its files")
    func closed() throws {
        let socket = "\(folder)/s"
        let pid = try spawn([
            "/bin/sh", "-c", "exec \"$0\" serve --data \"$1\" --socket \"$2\" <&- >&- 2>&-",
            DaemonProcess.program, "\(folder)/data", socket,
        ])
        defer {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        let patience = Patience()
        while try blobd(["ping"], socket: socket).status != 0 {
            try patience.wait(orThrow: "it does not answer")
        }
        for number in 0...2 {
            let target = try run(["readlink", "/proc/\(pid)/fd/\(number)"]).output
            #expect(String(decoding: target, as: UTF8.self) == "/dev/null\n")
        }
        #expect(try Files.byteCount("\(folder)/data/blobd.lock") == 0)
    }
}
