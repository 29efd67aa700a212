import TestSupport
import Testing

/// A sync that fails: whether the change is on disk is not known, and the kernel has forgotten
/// which pages were not written, so nothing may be synced again. `strace` makes the call fail.
@Suite(.waiting, .enabled(if: Machine.canTrace, "needs strace"))
struct FailedSyncTests {
    /// A daemon on a store with one notification, whose syncs fail soon; those of one of its files, where it is named.
    private func daemon(
        _ arguments: [String], in folder: TemporaryFolder, file: String? = nil
    ) throws -> DaemonProcess {
        // The store is made before, so that its own syncs are not counted.
        do {
            let daemon = try DaemonProcess(in: folder)
            #expect(try daemon.put("1", [1]).status == 201)
            #expect(daemon.stop() == 0)
        }
        // strace counts the calls of each thread: the main one's three work, as do the writer's first
        // three; the writer's others fail.
        return try DaemonProcess(
            arguments, in: folder,
            under: [
                "/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                "inject=fdatasync:error=EIO:when=4+",
            ] + (file.map { ["-P", "\(folder)/data/\($0)"] } ?? []))
    }

    // Where syncs of the other file failed, too, a commit between two publishes may have ended the daemon first.
    @Test(
        "The publisher is told, and the daemon stops with an error",
        arguments: [("changes.log", []), ("data.mdb", ["--no-write-ahead-log"])])
    func failedSync(file: String, flags: [String]) throws {
        let folder = TemporaryFolder()
        let daemon = try daemon(flags, in: folder, file: file)
        var answers: [HTTPAnswer] = []
        for number in 2..<9 where answers.last?.status ?? 201 == 201 {
            answers.append(try daemon.put("\(number)", [UInt8(number)]))
        }
        #expect(answers.first?.status == 201)
        #expect(answers.last?.status == 500 && answers.last?.code == "outcome_unknown")
        #expect(daemon.wait() == 1)
        #expect(daemon.log.contains("outcome of a commit is unknown"))
        // What was acknowledged is there, and what was not came last.
        let again = try DaemonProcess(in: folder)
        for number in 1...answers.count {
            let answer = try again.request("GET", "/v1/notifications/\(number)/payload")
            #expect(answer.body == [UInt8(number)], "\(number)")
        }
    }

    // It was closed without an answer.
    @Test(
        "A read that waits for the commit that fails is told that the daemon stops",
        arguments: [false, true])
    func waitingRead(isBinary: Bool) throws {
        let folder = TemporaryFolder()
        // Of the writer's syncs each second one is a commit, which the read of what was just published causes.
        let daemon = try daemon(["--workers", "1"], in: folder)
        let speaker = try Speaker(daemon, isBinary: isBinary)
        var read = (status: 200, body: [UInt8]())
        for number in 2..<9 where read.status == 200 {
            try speaker.client.send(
                speaker.putRequest("\(number)", [UInt8(number)]) + speaker.getRequest("\(number)"))
            #expect(try speaker.answer().status == 201)
            read = try speaker.answer()
        }
        let text = String(decoding: read.body, as: UTF8.self)
        #expect(read.status == 503 && text.contains("stopping"), "\(read.status) \(text)")
        #expect(daemon.wait() == 1)
    }
}
