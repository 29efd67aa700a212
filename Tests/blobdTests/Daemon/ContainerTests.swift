import Glibc
import TestSupport
import Testing

enum Container {
    static let isPossible = (try? run(words(after: 0) + ["true"]))?.end == .exited(0)

    /// Runs a program in a namespace of processes, with a number that depends on how many there were before it.
    static func words(after count: Int) -> [String] {
        [
            "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c",
            #"for _ in $(seq $0); do /bin/true & wait $!; done; "$@"; exit $?"#, "\(count)",
        ]
    }
}

/// liblmdb knows readers by the number of their process, of which each container has its own 1.
@Suite(.waiting, .enabled(if: Container.isPossible, "needs root and unshare"))
struct ContainerTests {
    private static let counts = 0..<4

    @Test("Commands read a store whose daemon has their process id in another container")
    func reading() throws {
        let daemon = try DaemonProcess(under: Container.words(after: 1))
        try daemon.put("a", [1, 2, 3])
        for count in Self.counts {
            let (read, output, errors) = try run(
                Container.words(after: count)
                    + [DaemonProcess.program, "get", "a", "--data", daemon.dataPath])
            #expect(read == .exited(0) && output == [1, 2, 3], "\(count): \(errors)")
            let (verified, _, why) = try run(
                Container.words(after: count)
                    + [DaemonProcess.program, "verify", "--data", daemon.dataPath])
            #expect(verified == .exited(0), "\(count): \(why)")
        }
    }

    @Test("A daemon starts while a process with its id, in another container, reads the store")
    func starting() throws {
        let folder = TemporaryFolder()
        try WaitingVerify.makeStore(folder)
        // The reading process has the third number.
        let verify = try WaitingVerify(folder, under: Container.words(after: 1))
        try verify.waitUntilOpen()
        verify.restoreLog()
        for count in Self.counts {
            let daemon = try DaemonProcess(in: folder, under: Container.words(after: count))
            #expect(try daemon.request("GET", "/v1/notifications/a").status == 200)
            daemon.signal(SIGKILL)
            daemon.wait()
            // The processes of a namespace end a moment after the one that made it.
            let lock = open("\(daemon.dataPath)/blobd.lock", O_RDWR | O_CLOEXEC)
            defer { close(lock) }
            let patience = Patience()
            while flock(lock, LOCK_EX | LOCK_NB) != 0 {
                try patience.wait(orThrow: "blobd.lock is held after the end")
            }
        }
    }

    /// The table was once `lock.mdb` in the store's folder, where a daemon that was killed left places that the next one,
    /// with the same process id, took for its own: it did not start.
    @Test("Without /dev/shm the table of readers is in the store's folder, new at each start")
    func withoutSharedMemory() throws {
        let folder = TemporaryFolder()
        let script = #"mount -t tmpfs -o ro none /dev/shm && exec "$0" "$@""#
        for _ in 0..<2 {
            let daemon = try DaemonProcess(
                in: folder, under: ["unshare", "--mount", "sh", "-c", script])
            try daemon.put("a", [1, 2, 3])
            let names = Files.names(in: daemon.dataPath)
            #expect(!names.contains { $0 == "lock.mdb" || $0.hasPrefix(".readers") }, "\(names)")
            let verified = try blobd(["verify", "--data", daemon.dataPath])
            #expect(verified.status == 0, "\(verified.errors)")
            daemon.signal(SIGKILL)
            daemon.wait()
        }
    }
}
