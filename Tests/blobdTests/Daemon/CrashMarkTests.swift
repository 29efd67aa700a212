import BlobStore
import Glibc
import TestSupport
import Testing

/// A damaged page may end a daemon by a signal in liblmdb itself. It ends one, not each that is
/// started after it.
@Suite(.waiting, .disabled(if: hasSanitizer, "the sanitizer has handlers of its own"))
struct CrashMarkTests {
    /// A store with the notification 42, and the same file as bytes in which its entry says that it is
    /// one of several values of its key, which no table of the store has: liblmdb dies of SIGSEGV when it
    /// finds it.
    private static func makeDeadly(_ folder: TemporaryFolder) throws -> (
        whole: [UInt8], deadly: [UInt8]
    ) {
        do {
            let daemon = try DaemonProcess(in: folder)
            try daemon.put("42", [1, 2, 3])
            try daemon.put("43", [4, 5, 6])
            #expect(daemon.stop() == 0)
        }
        let whole = try Files.read("\(folder)/data/data.mdb")
        // Flags, the length of the key, the key.
        let head: [UInt8] = [0, 0, 2, 0] + Array("42".utf8)
        var bytes = whole
        for place in 0..<bytes.count - head.count
        where bytes[place..<place + head.count].elementsEqual(head) { bytes[place] = 4 }
        #expect(bytes != whole)
        return (whole, bytes)
    }

    /// Damage while a daemon runs is seen by nobody before it is read; damage that is there before is
    /// refused by the start.
    @Test("A start reads the pages of a small store, and names the one that is damaged")
    func refused() throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/data/data.mdb"
        let (whole, deadly) = try Self.makeDeadly(folder)
        try Files.overwrite(deadly, at: 0, in: path)
        let refusal = #expect(throws: DaemonProcess.StartFailure.self) {
            _ = try DaemonProcess(in: folder)
        }
        #expect(refusal?.status == 1)
        #expect(refusal?.log.contains("of table notifications") == true)
        try Files.overwrite(whole, at: 0, in: path)
        let daemon = try DaemonProcess(in: folder)
        #expect(try daemon.request("GET", "/v1/notifications/42/payload").body == [1, 2, 3])
    }

    @Test("The start after a death by a signal names the page, and serves what was put back")
    func once() throws {
        let folder = TemporaryFolder()
        let (whole, deadly) = try Self.makeDeadly(folder)
        let mark = "\(folder)/data/blobd.died"
        do {
            let daemon = try DaemonProcess(["--no-write-ahead-log"], in: folder)
            // Only what is different, in place: the daemon has written its start meanwhile.
            for place in whole.indices where whole[place] != deadly[place] {
                try Files.overwrite([deadly[place]], at: place, in: "\(folder)/data/data.mdb")
            }
            // A fetch looks keys up without liblmdb, and survives it.
            let refused = try daemon.request("GET", "/v1/notifications/42/payload")
            #expect(refused.status == 500)
            #expect(try daemon.request("GET", "/livez").status == 200)
            daemon.signal(SIGSEGV)
            #expect(daemon.wait() == 128 + SIGSEGV)
        }
        #expect(Files.text(mark) == "signal 11\n")
        for _ in 0..<2 {
            let refusal = #expect(throws: DaemonProcess.StartFailure.self) {
                _ = try DaemonProcess(in: folder)
            }
            #expect(refusal?.status == 1)
            let log = refusal?.log ?? ""
            #expect(log.contains("the last run was killed by SIGSEGV"), "\(log)")
            #expect(log.contains("of table notifications"), "\(log)")
            #expect(log.contains("Restore the directory from a backup"), "\(log)")
        }
        try Files.overwrite(whole, at: 0, in: "\(folder)/data/data.mdb")
        let daemon = try DaemonProcess(in: folder)
        #expect(try daemon.request("GET", "/v1/notifications/42/payload").body == [1, 2, 3])
        #expect(access(mark, F_OK) != 0)
    }

    @Test("verify survives the page that it dies of, and says where that was")
    func verify() throws {
        let folder = TemporaryFolder()
        try Files.overwrite(
            try Self.makeDeadly(folder).deadly, at: 0, in: "\(folder)/data/data.mdb")
        let result = try blobd(["verify", "--data", "\(folder)/data", "--json"])
        #expect(result.status == 1)
        #expect(result.text.contains(#""clean":false"#), "\(result.text)")
        #expect(result.errors.contains("SIGSEGV killed the check at"), "\(result.errors)")
        #expect(result.errors.contains("of table notifications"), "\(result.errors)")
    }

    @Test("A death that was nobody's damage costs one walk, and kill -9 none")
    func sound() throws {
        let folder = TemporaryFolder()
        let mark = "\(folder)/data/blobd.died"
        do {
            let daemon = try DaemonProcess(in: folder)
            try daemon.put("42", [1, 2, 3])
            daemon.signal(SIGKILL)
            #expect(daemon.wait() == 128 + SIGKILL)
        }
        #expect(access(mark, F_OK) != 0)
        do {
            let daemon = try DaemonProcess(in: folder)
            daemon.signal(SIGABRT)
            #expect(daemon.wait() == 128 + SIGABRT)
        }
        #expect(Files.text(mark) == "signal 06\n")
        let daemon = try DaemonProcess(in: folder)
        #expect(try daemon.request("GET", "/v1/notifications/42/payload").body == [1, 2, 3])
        #expect(daemon.log.contains("The last run was killed by SIGABRT"))
        #expect(access(mark, F_OK) != 0)
        #expect(daemon.stop() == 0)
        // What a full disk has left: it said "signal 0".
        try Files.write([], to: mark)
        let next = try DaemonProcess(in: folder)
        #expect(next.log.contains("The last run was killed by a signal that blobd.died does not"))
    }

}

/// Stores that were made on a machine with longer pages.
@Suite(.waiting) struct LongPagesTests {
    /// The first chunk has 5,000 bytes: with pages of 4 KiB it has some of its own and is sent zero-copy, with
    /// pages of 16 KiB it shares a leaf, which is written over when its neighbours change.
    @Test("What shares its page is copied", arguments: [4_096, 16_384, 32_768])
    func shared(pageByteCount: Int) throws {
        let folder = TemporaryFolder()
        mkdir("\(folder)/data", 0o755)
        do {
            var options = BlobStore.Options()
            options.pageByteCount = pageByteCount
            _ = try BlobStore.open(at: "\(folder)/data", options: options)
        }
        let daemon = try DaemonProcess(
            ["--workers", "1", "--sweep-interval", "50ms"], in: folder)
        var random = SeededGenerator(seed: 31)
        let body = random.bytes(65_472 + 5_000)
        try daemon.put("q", body)
        let client = try daemon.connectBinary()
        client.send(try getFrame("q"))
        try daemon.waitUntil("leases") { $0 == 1 }
        for round in 0..<80 {
            for number in 0..<4 {
                #expect(
                    try daemon.put("other-\(number)", random.bytes(20_000 + 97 * round)).status
                        < 300)
                #expect(try daemon.put("short-\(number)", random.bytes(1_500)).status < 300)
            }
        }
        #expect(try client.frameAnswer().body == body)
        #expect(daemon.stop() == 0)
    }
}
