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

    /// A read waited for the commit of what it asked for, and was closed without an answer when that failed. Now nothing
    /// is waited for.
    @Test(
        "What was acknowledged is read until the daemon stops because its commit fails",
        arguments: [false, true])
    func reads(isBinary: Bool) throws {
        let folder = TemporaryFolder()
        let daemon = try daemon(["--workers", "1"], in: folder, file: "data.mdb")
        let speaker = try Speaker(daemon, isBinary: isBinary)
        var acknowledged = 1
        // The commit comes after a hundred milliseconds at the latest.
        while acknowledged < 100_000 {
            let (id, bytes) = ("\(acknowledged + 1)", [UInt8(truncatingIfNeeded: acknowledged)])
            guard
                (try? speaker.client.send(
                    speaker.putRequest(id, bytes) + speaker.getRequest(id))) != nil,
                let written = try? speaker.answer(), written.status == 201
            else { break }
            acknowledged += 1
            guard let read = try? speaker.answer(), read.status != 503 else { break }
            #expect(read.status == 200 && read.body == bytes, "\(id): \(read.status)")
        }
        #expect(daemon.wait() == 1)
        let again = try DaemonProcess(in: folder)
        for number in 2..<acknowledged + 1 {
            let answer = try again.request("GET", "/v1/notifications/\(number)/payload")
            #expect(answer.body == [UInt8(truncatingIfNeeded: number - 1)], "\(number)")
        }
        #expect(acknowledged > 1)
    }
}
