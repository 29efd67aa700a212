import BlobClient
import Foundation
import TestSupport
import Testing

/// The commands as a user types them, against a daemon: what they print, and their exit codes.
@Suite(.waiting) struct CommandTests {
    private static let payload: [UInt8] = (0..<200_000).map {
        UInt8(truncatingIfNeeded: $0 &* 131 >> 3)
    }

    @Test func whatWasPutIsGot() throws {
        let daemon = try DaemonProcess()
        let file = try daemon.folder.write("photo.jpg", Self.payload)
        let put = try daemon.run(
            "put", "42", file, "--ttl", "24h", "--message", "Hello", "--rich-type", "img",
            "--owner", "ann")
        #expect(put.status == 0)
        #expect(put.text.hasPrefix("created 42  200.0 kB  sha256:"))
        #expect(put.errors == "")

        let got = try daemon.run("get", "42")
        #expect(got.status == 0)
        #expect(got.output == Self.payload)

        let target = daemon.folder.path("got.jpg")
        #expect(try daemon.run("get", "42", "-o", target).status == 0)
        #expect(try daemon.folder.read("got.jpg") == Self.payload)

        let stat = try daemon.run("stat", "42", "--json")
        #expect(stat.status == 0)
        let record = try NotificationRecord(document: stat.output)
        #expect(record.owner == "ann")
        #expect(record.message == "Hello")
        #expect(record.richType == "img")
        #expect(record.parts.map(\.mediaType) == ["image/jpeg"])
        #expect(try daemon.run("put", "42", file).text.hasPrefix("replaced 42"))
    }

    @Test func standardInputIsStoredWhole() throws {
        let daemon = try DaemonProcess()
        let put = try daemon.run("put", "43", "-", "--type", "image/webp", input: Self.payload)
        #expect(put.status == 0)
        #expect(try daemon.run("get", "43").output == Self.payload)
        let nothing = try daemon.run("put", "44", "-", "--json", input: [])
        #expect(nothing.status == 0)
        #expect(nothing.text.contains("\"byte_count\":0"))
        #expect(try daemon.run("get", "44").output == [])
        let part = try daemon.run("put", "43", "-", "--part", "sound", input: [1, 2])
        #expect(part.status == 0)
        #expect(try daemon.run("get", "43", "--part", "sound").output == [1, 2])
    }

    @Test func whatIsNotThereIsThree() throws {
        let daemon = try DaemonProcess()
        let before = daemon.folder.names
        let target = daemon.folder.path("never")
        for arguments in [["get", "7"], ["get", "7", "-o", target], ["stat", "7"], ["rm", "7"]] {
            let result = try blobd(arguments, socket: daemon.socketPath)
            #expect(result.status == 3, "\(arguments)")
            #expect(result.output == [])
            #expect(result.errors.contains("not_found"), "\(arguments): \(result.errors)")
        }
        // Neither the file nor a temporary neighbour of it.
        #expect(daemon.folder.names == before)
    }

    @Test func whatIsRefusedIsOneAndLeavesWhatWasThere() throws {
        let daemon = try DaemonProcess(["--max-payload", "1000"])
        #expect(try daemon.run("put", "1", "-", input: [1, 2, 3]).status == 0)
        let file = try daemon.folder.write("large", Self.payload)
        let large = try daemon.run("put", "1", file)
        #expect(large.status == 1)
        #expect(large.errors.contains("payload_too_large"))
        let piped = try daemon.run("put", "1", "-", input: Self.payload)
        #expect(piped.status == 1)
        #expect(piped.errors.contains("1000"))
        let long = try daemon.run("put", "1", "-", "--ttl", "31d", input: [9])
        #expect(long.status == 1)
        #expect(long.errors.contains("bad_ttl"))
        #expect(try daemon.run("get", "1").output == [1, 2, 3])
    }

    @Test(arguments: [
        ["put", "1"], ["put", "1", "/dev/null", "--ttl", "0"],
        ["put", "1", "/dev/null", "--ttl", "x"],
        ["put", "1", "/dev/null", "--expires-at", "tomorrow"],
        ["put", "1", "/dev/null", "--ttl", "5", "--expires-at", "2099-01-01T00:00:00Z"],
        ["put", "1", "/nonexistent/file"], ["put", "1", "/tmp"], ["put", "a/b", "/dev/null"],
        ["get", String(repeating: "x", count: 256)], ["get", "1", "--nonsense"], ["nonsense"],
        ["get"], ["rm"], ["ls", "--limit", "0"], ["get", "1", "--check"],
        ["get", "1", "-o", "/tmp"],
        ["verify"], ["verify", "--data", "/nonexistent"], ["stat", "1", "--timeout", "-1"],
        ["publish", "1", "--priority", "urgent"], ["publish", "1", "--data", "{"],
        ["publish", "1", "--actions", "{}"], ["publish", "1", "--actions", "[{\"title\":\"x\"}]"],
        ["publish", "1", "--actions", "[{\"identifier\":\"x\",\"title\":\"x\",\"colour\":1}]"],
        ["publish", "1", "--part", "photo"], ["publish", "1", "--part", "photo=/nonexistent"],
        ["publish", "1", "--display-ttl", "x"], ["publish", "1", "--batch", "/dev/null"],
        ["publish", "1", "--ttl", "5", "--expires-at", "2099-01-01T00:00:00Z"],
        ["publish", "a/b"], ["mark", "1"], ["mark", "--read"], ["mark", "1", "--read", "--unread"],
        ["mark", "1", "--owner", "ann", "--read"], ["mark", "1", "--state", "gone"],
        ["mark", "1", "--action", "yes", "--read"], ["mark", "1", "--read", "--key", "k"],
        ["history"], ["history", "ann", "--limit", "0"], ["changes"],
        ["changes", "ann", "--limit", "0"], ["envelope", "1"],
        ["envelope", "1", "--platform", "sms"], ["category", "--delete"],
        ["category", "c", "--delete", "--actions", "[]"],
        ["category", "c", "--delete", "--option", "allow_announcement"],
        ["category", "c", "--actions", "[]", "--option", "loud"],
        ["category", "c", "--if-revision", "1"], ["mark", "1", "--read", "--extension", "dismiss"],
        ["mark", "1", "--action", "a", "--stay", "--extension", "dismiss"],
    ])
    func badUsageIsTwo(arguments: [String]) throws {
        let daemon = try DaemonProcess()
        let result = try blobd(arguments, socket: daemon.socketPath)
        #expect(result.status == 2, "\(arguments): \(result.errors)")
        #expect(result.output == [])
        #expect(result.errors != "")
    }

    @Test func noDaemonIsFour() throws {
        let missing = try blobd(["stats"], socket: "/nonexistent/s")
        #expect(missing.status == 4)
        #expect(missing.errors.contains("blobd serve"))
        #expect(missing.errors.contains("BLOBD_SOCKET"))
        let help = try blobd(["put", "--help"])
        #expect(help.status == 0)
        #expect(help.text.contains("--ttl"))
    }

    @Test func oneForManyIsStoredOnceAndChecked() throws {
        let daemon = try DaemonProcess()
        let ids = (0..<300).map { "crowd-\($0)" }
        let list = try daemon.folder.write("ids", Array((ids.joined(separator: "\n") + "\n").utf8))
        let file = try daemon.folder.write("photo.jpg", Self.payload)
        let put = try daemon.run("put", "--ids-from", list, file, "--json")
        #expect(put.status == 0, "\(put.errors)")
        #expect(put.text.contains("\"created\":300"))
        let stats = try JSONDecoder.snake.decode(
            DaemonStatistics.self, from: Data(try daemon.run("stats", "--json").output))
        #expect(stats.notifications == 300)
        #expect(stats.blobs == 1)

        let check = try daemon.run("get", "--ids-from", list, "--check", "--json")
        #expect(check.status == 0, "\(check.errors)")
        #expect(check.text.contains("\"right\":300"))
        #expect(check.text.contains("\"distinct\":1"))
        // Read from the file itself, while the daemon has it open.
        let local = try daemon.run(
            "get", "--data", daemon.dataPath, "--ids-from", list, "--check", "--json")
        #expect(local.status == 0, "\(local.errors)")
        #expect(local.text.contains("\"right\":300"))

        #expect(try daemon.run("ls", "--json").text.split(separator: "\n").count == 300)
        let some = try daemon.run("ls", "--json", "--limit", "2", "--after", "crowd-10")
        #expect(some.text.contains("\"id\":\"crowd-100\""))
        #expect(some.text.split(separator: "\n").count == 2)

        #expect(try daemon.run("rm", "crowd-7").status == 0)
        let after = try daemon.run("get", "--ids-from", list, "--check", "--json")
        #expect(after.status == 3)
        #expect(after.text.contains("\"missing\":1"))
        #expect(after.text.contains("\"right\":299"))
        #expect(after.errors.contains("crowd-7"))

        let verified = try daemon.run("verify", "--data", daemon.dataPath, "--json")
        #expect(verified.status == 0, "\(verified.errors)")
        #expect(verified.text.contains("\"clean\":true"))
    }

    /// The command waited 30 s for its first connection over the limit, and stopped.
    @Test("A list is stored also where the daemon, or the command's shell, allows few connections")
    func fewConnections() throws {
        let daemon = try DaemonProcess(["--max-connections", "4"])
        let ids = (0..<100).map { "n\($0)\n" }.joined()
        let list = try daemon.folder.write("ids", Array(ids.utf8))
        let put = try daemon.run("put", "--ids-from", list, list, "--json")
        #expect(put.status == 0, "\(put.errors)")
        #expect(put.text.contains("\"created\":100"))
        let command = "ulimit -n 20; exec \(DaemonProcess.program) put --json --ids-from"
        let few = try run(
            ["/bin/bash", "-c", "\(command) \(list) \(list)"],
            environment: ["BLOBD_SOCKET": daemon.socketPath])
        #expect(few.end == .exited(0), "\(few.errors)")
        #expect(String(decoding: few.output, as: UTF8.self).contains("\"replaced\":100"))
    }

    @Test func aBadIdInAListIsFoundBeforeAnythingIsDone() throws {
        let daemon = try DaemonProcess()
        let list = try daemon.folder.write("ids", Array("1\n\n2\na/b\n3\n".utf8))
        let put = try daemon.run("put", "--ids-from", list, list)
        #expect(put.status == 2)
        #expect(put.errors.contains("ids, line 4"), "\(put.errors)")
        #expect(try daemon.run("ls", "--json").output == [])
        #expect(try daemon.run("put", "--ids-from", "-", "-", input: []).status == 2)
    }

    /// The help once said `ModeText(bits: 432)` where a person types 0660.
    @Test func theHelpShowsDefaultsAsTheyAreTyped() throws {
        let daemon = try DaemonProcess()
        let help = try daemon.run("serve", "--help")
        #expect(help.status == 0)
        #expect(help.text.contains("(default: 0660)"))
        #expect(help.text.contains("(default: 64MiB)"))
        #expect(!help.text.contains("Text("), "\(help.text)")
    }

    @Test func anAsyncClientStoresAndFetches() async throws {
        let daemon = try DaemonProcess()
        let client = BlobdClient(socketPath: daemon.socketPath)
        let receipt = try await client.put(
            PutRequest(id: "42", mediaType: "image/png", lifetime: .seconds(3_600)), Self.payload)
        #expect(receipt.isCreated)
        let payload = try await client.get("42")
        #expect(payload?.bytes == Self.payload)
        #expect(payload?.info.mediaType == "image/png")
        #expect(try await client.getBlob(receipt.digest)?.bytes == Self.payload)
        #expect(
            try await client.call(ifPresent: .stat("42"))?.parts.first?.digest
                == "\(receipt.digest)")
        #expect(try await client.get("43") == nil)
        #expect(try await client.call(.list()).notifications.map(\.id) == ["42"])
        #expect(try await client.call(ifPresent: .delete("42")) != nil)
        #expect(try await client.call(ifPresent: .delete("42")) == nil)
        #expect(try await client.call(.stats).notifications == 0)
    }
}

extension CommandTests {
    /// A daemon that was restarted has closed the connection; the client makes another one by
    /// itself.
    @Test func anAsyncClientOutlivesADaemon() async throws {
        let folder = TemporaryFolder()
        let client = BlobdClient(socketPath: folder.path("s"))
        try await Self.with(folder) {
            try await client.put(PutRequest(id: "42", lifetime: .seconds(3_600)), [1, 2, 3])
        }
        await #expect(throws: ClientError.self) { try await client.get("42") }
        try await Self.with(folder) {
            let payload = try await client.get("42")
            #expect(payload?.bytes == [1, 2, 3])
        }
    }

    /// Runs a daemon for the time of `body`.
    private static func with(_ folder: TemporaryFolder, _ body: () async throws -> Void)
        async throws
    {
        let daemon = try DaemonProcess(in: folder)
        try await body()
        withExtendedLifetime(daemon) {}
    }
}

extension JSONDecoder {
    fileprivate static var snake: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }
}
