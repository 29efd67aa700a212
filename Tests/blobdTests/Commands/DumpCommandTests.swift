import Dispatch
import Synchronization
import TestSupport
import Testing

/// `blobd dump` of much, and of what changes; the rest is in the session `copies.txt`.
@Suite(.waiting) struct DumpCommandTests {
    // `dump` fetched payloads into memory, and so failed for those over 1 GiB, the client's limit.
    @Test(
        "Payloads are dumped in bounded memory",
        .disabled(if: hasSanitizer, "the sanitizer's memory is not the command's"))
    func large() throws {
        let daemon = try DaemonProcess(["--max-payload", "256MiB"])
        let folder = TemporaryFolder()
        let byteCount = 200_000_000
        let shell = ["/bin/bash", "-c"]
        let environment = ["BLOBD_SOCKET": daemon.socketPath]
        let put = try run(
            shell + ["head -c \(byteCount) /dev/zero | \(DaemonProcess.program) put zeros -"],
            environment: environment)
        #expect(put.end == .exited(0), "\(put.errors)")
        let dumped = try run(
            shell + ["ulimit -v 150000; exec \(DaemonProcess.program) dump \(folder)/all.tar"],
            environment: environment)
        #expect(dumped.end == .exited(0), "\(dumped.errors)")
        let names = try run(["tar", "tvf", "\(folder)/all.tar"]).output
        #expect(String(decoding: names, as: UTF8.self).contains(" \(byteCount) "))
    }

    // A payload that was replaced after the listing was taken for a notification that had gone: of 1,000 that were
    // there all the time 962 were left out, and the command succeeded.
    @Test("What is replaced while it is dumped is in the dump")
    func replaced() throws {
        let daemon = try DaemonProcess()
        let folder = TemporaryFolder()
        let count = 300
        var random = SeededGenerator(seed: 7)
        let client = try daemon.connect()
        for number in 0..<count { try client.put("n\(number)", random.bytes(3_000)) }
        let isOver = Atomic(false)
        let replaced = Atomic(0)
        let group = DispatchGroup()
        DispatchQueue(label: "publisher").async(group: group) {
            var random = SeededGenerator(seed: 8)
            guard let client = try? daemon.connect() else {
                Issue.record("no connection")
                return
            }
            // From the last one on: the dump comes to them later.
            while !isOver.load(ordering: .relaxed) {
                for number in (0..<count).reversed() {
                    let answer = try? client.put("n\(number)", random.bytes(3_000))
                    if answer?.status == 200 { replaced.add(1, ordering: .relaxed) }
                }
            }
        }
        var hits = 0
        for round in 0..<3 {
            let before = replaced.load(ordering: .relaxed)
            let dumped = try daemon.run("dump", "\(folder)/\(round).tar")
            hits += replaced.load(ordering: .relaxed) - before
            #expect(
                dumped.text.hasPrefix("dumped \(count) notifications"),
                "\(dumped.text)\(dumped.errors)")
        }
        isOver.store(true, ordering: .relaxed)
        group.wait()
        #expect(hits >= 30, "nothing was replaced meanwhile")
    }
}
