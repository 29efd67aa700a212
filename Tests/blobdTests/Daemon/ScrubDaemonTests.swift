import BlobProtocol
import Glibc
import TestSupport
import Testing

/// `/v1/scrub`, `blobd scrub`, and what becomes of a damaged payload.
@Suite(.waiting) struct ScrubDaemonTests {
    private static func bytes(_ seed: UInt64, _ count: Int = 300_000) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        return random.bytes(count)
    }

    private static func expectRefused(
        _ daemon: DaemonProcess, _ id: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let answer = try daemon.request("GET", "/v1/notifications/\(id)/payload")
        #expect(
            answer.status == 500 && answer.code == "corrupt", "\(answer.status)",
            sourceLocation: location)
        let binary = try daemon.connectBinary().exchange(try getFrame(id))
        #expect(
            binary.status == 500 && binary.code == "corrupt", sourceLocation: location)
    }

    private static func waitUntilServed(
        _ daemon: DaemonProcess, _ id: String, _ bytes: [UInt8]
    ) throws {
        let patience = Patience()
        while true {
            let answer = try daemon.request("GET", "/v1/notifications/\(id)/payload")
            if answer.status == 200 {
                #expect(answer.body == bytes)
                return
            }
            #expect(answer.status == 500)
            try patience.wait(orThrow: "\(id) is not healed")
        }
    }

    /// Each that was noted made the next one wait twenty times as long, and the round ended without it.
    @Test("A round on a slow disk ends when all that it found is noted")
    func slowDisk() throws {
        let folder = TemporaryFolder()
        let library = "\(folder)/slow.so"
        let source = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <unistd.h>
            int fdatasync(int fd) {
                usleep(600000);
                return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
            }
            """
        try Files.write(Array(source.utf8), to: "\(folder)/slow.c")
        let compiled = try run(["cc", "-shared", "-fPIC", "-o", library, "\(folder)/slow.c"])
        try require(compiled.0 == .exited(0), compiled.2)
        do {
            let daemon = try DaemonProcess(in: folder)
            for seed in 1...3 {
                #expect(try daemon.put("n\(seed)", Self.bytes(UInt64(seed))).status == 201)
            }
            #expect(daemon.stop() == 0)
        }
        let daemon = try DaemonProcess(
            ["--sweep-interval", "20ms"], in: folder, under: ["env", "LD_PRELOAD=\(library)"])
        for seed in 1...3 { try daemon.damage(Self.bytes(UInt64(seed))) }
        // A reader finds the first one.
        try Self.expectRefused(daemon, "n1")
        try daemon.waitForLog("Quarantined")
        let found = try daemon.run("scrub", "--wait", "--json")
        #expect(jsonMember(found.text, "corrupt_chunks") == "3", "\(found.text)")
    }

    @Test("A round finds a damaged payload; it is refused, listed, logged and healed")
    func round() throws {
        let folder = TemporaryFolder()
        let bytes = Self.bytes(1)
        let fast = ["--sweep-interval", "20ms"]
        do {
            let daemon = try DaemonProcess(fast, in: folder)
            for number in 0..<12 { #expect(try daemon.put("n\(number)", bytes).status == 201) }
            #expect(try daemon.put("other", Self.bytes(2)).status == 201)
            let sound = try daemon.run("scrub", "--wait")
            #expect(sound.status == 0, "\(sound.errors)")
            #expect(sound.text.contains("damaged payloads: 0"), "\(sound.text)")

            // Behind the daemon's back, which has the file open and has verified it.
            #expect(try daemon.request("GET", "/v1/notifications/n0/payload").body == bytes)
            try daemon.damage(bytes)
            let found = try daemon.run("scrub", "--wait", "--json")
            #expect(found.status == 1, "\(found.errors)")
            #expect(jsonMember(found.text, "quarantined") == "1", "\(found.text)")
            #expect(jsonMember(found.text, "corrupt_chunks") == "1", "\(found.text)")
            #expect(jsonMember(found.text, "references") == "12", "\(found.text)")
            #expect(
                found.text.contains("sha256:\(PayloadDigestText.of(bytes))"), "\(found.text)")
            for id in ["n0", "n7", "n11"] { try Self.expectRefused(daemon, id) }
            #expect(
                try daemon.request("GET", "/v1/notifications/other/payload").body == Self.bytes(2))
            let range = try daemon.request(
                "GET", "/v1/notifications/n0/payload", ["Range": "bytes=0-9"])
            #expect(range.status == 500, "\(range.status)")
            #expect(
                daemon.log.contains(
                    "Quarantined sha256:\(PayloadDigestText.of(bytes)) of 300000 bytes"),
                "\(daemon.log)")
            #expect(daemon.log.contains("and 2 more"), "\(daemon.log)")
            #expect(try daemon.statistic("quarantined") == 1)
            #expect(try daemon.run("stats").text.contains("damaged payloads        1"))
            daemon.signal(SIGKILL)
            _ = daemon.wait()
        }
        let daemon = try DaemonProcess(fast, in: folder)
        try Self.expectRefused(daemon, "n3")
        #expect(try daemon.put("again", bytes).status == 201)
        #expect(try daemon.request("GET", "/v1/notifications/again/payload").body == bytes)
        for number in 0..<12 { try Self.waitUntilServed(daemon, "n\(number)", bytes) }
        try daemon.waitUntil("quarantined") { $0 == 0 }
        let sound = try daemon.run("scrub", "--wait")
        #expect(sound.status == 0, "\(sound.text)")
        #expect(daemon.stop() == 0)
        #expect(try blobd(["verify", "--data", daemon.dataPath]).status == 0)
    }

    @Test("Who fetches first finds it, and deletes take it away")
    func fetched() throws {
        let folder = TemporaryFolder()
        let bytes = Self.bytes(3)
        do {
            let daemon = try DaemonProcess(in: folder)
            #expect(try daemon.put("a", bytes).status == 201)
            #expect(daemon.stop() == 0)
            try daemon.damage(bytes)
        }
        let daemon = try DaemonProcess(["--sweep-interval", "20ms"], in: folder)
        try Self.expectRefused(daemon, "a")
        try daemon.waitUntil("quarantined") { $0 == 1 }
        try Self.expectRefused(daemon, "a")
        #expect(try daemon.statistic("corrupt") == 4)
        #expect(try daemon.run("backup", "\(folder)/b").status == 1)
        #expect(!Files.exists("\(folder)/b"))
        #expect(try daemon.request("DELETE", "/v1/notifications/a").status == 204)
        try daemon.waitUntil("quarantined") { $0 == 0 }
        #expect(try daemon.run("backup", "\(folder)/b").status == 0)
        #expect(daemon.stop() == 0)
        #expect(try blobd(["verify", "--data", daemon.dataPath]).status == 0)
    }
}
