import Glibc
import TestSupport
import Testing

/// Whatever kept `verify` from checking a store was said to be damage: exit code 1, "damaged, 1 problem".
@Suite(.waiting) struct VerifyTests {
    private let folder = TemporaryFolder()

    @Test("A check whose reading process is killed says that the store was not checked")
    func killed() throws {
        try WaitingVerify.makeStore(folder)
        let verify = try WaitingVerify(folder)
        kill(try verify.reader(), SIGKILL)
        #expect(verify.wait() == 5)
        #expect(verify.errors.contains("was not checked to the end: SIGKILL"), "\(verify.errors)")
        #expect(!verify.errors.contains("damaged"), "\(verify.errors)")
    }

    @Test(
        "A read-only mount is verified, also while a daemon writes elsewhere",
        .enabled(if: SmallDisk.isPossible, "needs root"))
    func readOnly() throws {
        let daemon = try DaemonProcess(in: folder)
        try daemon.put("a", [1, 2, 3])
        let mounted = TemporaryFolder()
        #expect(try run(["mount", "--bind", daemon.dataPath, mounted.path]).end == .exited(0))
        defer { umount2(mounted.path, Int32(MNT_DETACH)) }
        let remount = ["mount", "-o", "remount,bind,ro", mounted.path]
        #expect(try run(remount).end == .exited(0))
        for isRunning in [true, false] {
            if !isRunning { #expect(daemon.stop() == 0) }
            let verified = try blobd(["verify", "--data", mounted.path])
            #expect(verified.status == 0, "\(verified.errors)")
            let read = try blobd(["get", "a", "--data", mounted.path])
            #expect(read.status == 0 && read.output == [1, 2, 3], "\(read.errors)")
        }
    }
}
