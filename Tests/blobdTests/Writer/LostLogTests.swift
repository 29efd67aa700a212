import Foundation
import Glibc
import TestSupport
import Testing

/// A daemon was killed, and somebody then took its log away: it started, said nothing, and `verify` was clean, with
/// acknowledged changes gone.
@Suite(.waiting) struct LostLogTests {
    /// One that is emptied, cut or zeroed is the store's to refuse: see its `LostLogTests`.
    @Test("A log that is gone after a kill is refused by name, and with --discard-log it goes on")
    func gone() throws {
        let folder = TemporaryFolder()
        do {
            let daemon = try DaemonProcess(in: folder)
            #expect(try daemon.put("committed", [1]).status == 201)
            // A stop leaves nothing pending.
            #expect(daemon.stop() == 0)
        }
        let log = "\(folder)/data/changes.log"
        do {
            let daemon = try DaemonProcess(in: folder)
            for number in 0..<8 { #expect(try daemon.put("\(number)", [1]).status == 201) }
            daemon.signal(SIGKILL)
            #expect(daemon.wait() == 128 + SIGKILL)
        }
        unlink(log)
        let serve = [
            "serve", "--data", "\(folder)/data", "--socket", "\(folder)/s",
        ]
        let refused = try blobd(serve)
        #expect(refused.status == 1)
        #expect(refused.errors.contains(log), "\(refused.errors)")
        #expect(refused.errors.contains("acknowledged changes may be missing"), "\(refused.errors)")
        #expect(refused.errors.contains("blobd serve --discard-log"), "\(refused.errors)")
        let verified = try blobd(["verify", "--data", "\(folder)/data", "--json"])
        #expect(verified.status == 1)
        #expect(verified.text.contains(log), "\(verified.text)")

        do {
            let daemon = try DaemonProcess(["--discard-log"], in: folder)
            #expect(daemon.log.contains("Opened without changes.log: \(log)"), "\(daemon.log)")
            #expect(try daemon.request("GET", "/v1/notifications/committed").status == 200)
            #expect(try daemon.put("0", [2]).status / 100 == 2)
            #expect(daemon.stop() == 0)
        }
        // And once more without, with no log in use.
        unlink(log)
        let daemon = try DaemonProcess(in: folder)
        #expect(try daemon.request("GET", "/v1/notifications/0/payload").body == [2])
        #expect(daemon.stop() == 0)
    }

    /// A start began an empty store, and its log over the one with what was acknowledged.
    @Test("A log whose store is gone is left as it is")
    func storeGone() throws {
        let folder = TemporaryFolder()
        do {
            let daemon = try DaemonProcess(in: folder)
            for number in 0..<8 { #expect(try daemon.put("\(number)", [1]).status == 201) }
            daemon.signal(SIGKILL)
            #expect(daemon.wait() == 128 + SIGKILL)
        }
        let (data, log) = ("\(folder)/data/data.mdb", "\(folder)/data/changes.log")
        rename(data, "\(folder)/kept")
        let before = try Files.read(log)
        let refused = try blobd(["serve", "--data", "\(folder)/data", "--socket", "\(folder)/s"])
        #expect(refused.status == 1)
        #expect(refused.errors.contains("changes.log, but no data.mdb"), "\(refused.errors)")
        #expect(try Files.read(log) == before)
        #expect(access(data, F_OK) != 0)
        rename("\(folder)/kept", data)
        do {
            let daemon = try DaemonProcess(in: folder)
            for number in 0..<8 {
                #expect(try daemon.request("GET", "/v1/notifications/\(number)").status == 200)
            }
            #expect(daemon.stop() == 0)
        }
        unlink(data)
        let daemon = try DaemonProcess(["--discard-log"], in: folder)
        #expect(try daemon.request("GET", "/v1/notifications/0").status == 404)
        #expect(daemon.stop() == 0)
    }

    /// It said `ok` for as long as it ran, and everything was gone then.
    @Test("A daemon whose store was removed or moved is not ready", arguments: [true, false])
    func removedBelow(isMoved: Bool) throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.request("GET", "/readyz").status == 200)
        let data = "\(daemon.dataPath)/data.mdb"
        if isMoved { rename(data, data + ".moved") } else { unlink(data) }
        try daemon.wait(for: "it stays ready") { try $0.request("GET", "/readyz").status == 503 }
        #expect(try daemon.request("GET", "/readyz").text.contains(data))
        #expect(try daemon.run("ping").status == 1)
        try daemon.waitForLog("The store cannot be used: ")
        guard isMoved else { return }
        rename(data + ".moved", data)
        try daemon.wait(for: "it is not ready") { try $0.request("GET", "/readyz").status == 200 }
    }

    @Test("What was only in the log is told at the start, and verify counts it before")
    func told() throws {
        let folder = TemporaryFolder()
        // Killed in the middle of many publishes, with some of them answered: most often the first time there is
        // something in the log alone.
        for round in 0..<50 {
            let daemon = try DaemonProcess(in: folder)
            let client = try daemon.connect()
            for number in 0..<400 {
                client.sendRequest(
                    "PUT", "/v1/notifications/\(round)-\(number)/payload", body: [1])
            }
            for _ in 0..<20 { #expect(try client.answer().status == 201) }
            daemon.signal(SIGKILL)
            _ = daemon.wait()
            let verified = try blobd(["verify", "--data", "\(folder)/data"])
            #expect(verified.status == 0, "\(verified.errors)")
            let again = try DaemonProcess(in: folder)
            for number in 0..<20 {
                #expect(
                    try again.request("GET", "/v1/notifications/\(round)-\(number)").status == 200)
            }
            #expect(again.stop() == 0)
            guard verified.text.contains(" acknowledged only in the write-ahead log") else {
                continue
            }
            #expect(
                again.log.contains("Replayed ") && again.log.contains(" changes from changes.log"),
                "\(again.log)")
            return
        }
        Issue.record("nothing was ever pending")
    }
}
