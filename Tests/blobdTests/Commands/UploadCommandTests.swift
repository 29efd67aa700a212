import BlobClient
import Foundation
import TestSupport
import Testing

/// `blobd put --gzip` and `--blob`, and what the commands say of what has expired.
@Suite(.waiting) struct UploadCommandTests {
    @Test func whatIsInsideAGzipFileIsStored() throws {
        let daemon = try DaemonProcess()
        let bytes = shrinkingText(500)
        let coded = gzipped(bytes)
        let file = try daemon.folder.write("report.json.gz", coded)
        let put = try daemon.run("put", "42", file, "--gzip", "--json")
        #expect(put.status == 0, "\(put.errors)")
        #expect(put.text.contains("\"byte_count\":\(bytes.count)"))
        #expect(put.text.contains("\"stored_byte_count\":\(coded.count)"))
        #expect(try daemon.run("get", "42").output == bytes)
        // The name without .gz tells the type.
        #expect(try daemon.run("stat", "42", "--json").text.contains("application/json"))
        #expect(try daemon.run("put", "43", "-", "--gzip", input: coded).status == 0)
        #expect(try daemon.run("get", "43").output == bytes)
        let damaged = try daemon.run("put", "44", "-", "--gzip", input: Array(coded.dropLast()))
        #expect(damaged.status == 1)
        #expect(damaged.errors.contains("bad_coding"))
        #expect(try daemon.run("get", "44").status == 3)
        // Without the option it is a file like any other.
        #expect(try daemon.run("put", "45", file).status == 0)
        #expect(try daemon.run("get", "45").output == coded)
    }

    @Test func aBlobIsStoredWithoutANotification() throws {
        let daemon = try DaemonProcess()
        let bytes: [UInt8] = [1, 2, 3]
        let file = try daemon.folder.write("a.png", bytes)
        let digest = PayloadDigest(of: bytes.span.bytes)
        let put = try daemon.run("put", "--blob", file, "--ttl", "10m")
        #expect(put.status == 0, "\(put.errors)")
        #expect(put.text.hasPrefix("created \(digest)  3 B  held until 2"))
        let again = try daemon.run("put", "--blob", file, "--json")
        #expect(again.status == 0 && again.text.contains("\"created\":false"))
        #expect(again.text.contains("\"digest\":\"\(digest)\""))
        #expect(try daemon.run("put", "--blob", file).text.hasPrefix("already stored \(digest)"))
        let coded = try daemon.folder.write("b.gz", gzipped(bytes))
        #expect(try daemon.run("put", "--blob", coded, "--gzip").text.hasPrefix("already stored"))
        var connection = try BlobConnection.connect(to: daemon.socketPath)
        #expect(try connection.getBlob(digest).bytes == bytes)
        for arguments in [
            ["put", "--blob", "42", file], ["put", "--blob", file, "--message", "m"],
            ["put", "--blob", file, "--owner", "ann"], ["put", "--blob", file, "--part", "p"],
            ["put", "--blob", file, "--title", "t"], ["put", "--blob", file, "--app", "mail"],
            ["put", "--blob", file, "--profile", "ios"],
            ["put", "--blob", file, "--ids-from", file],
            ["put", "--blob", file, "--expires-at", "2099-01-01T00:00:00Z"],
        ] {
            #expect(try blobd(arguments, socket: daemon.socketPath).status == 2, "\(arguments)")
        }
    }

    @Test func whatHasExpiredSaysWhen() throws {
        let daemon = try DaemonProcess(["--sweep-interval", "1h"])
        let put = try daemon.run("put", "42", "-", "--ttl", "1", "--json", input: [1])
        let text = try #require(put.text.firstRange(of: "\"expires_at\":\""))
        let expiresAt = String(put.text[text.upperBound...].prefix { $0 != "\"" })
        let patience = Patience()
        var got = try daemon.run("get", "42")
        while got.status == 0 {
            try patience.wait(orThrow: "it does not expire")
            got = try daemon.run("get", "42")
        }
        #expect(got.status == 3 && got.errors.contains("expired at \(expiresAt)"), "\(got.errors)")
        let stat = try daemon.run("stat", "42")
        #expect(stat.status == 3 && stat.errors.contains("expired at \(expiresAt)"))
        let local = try blobd(["get", "42", "--data", daemon.folder.path("data")])
        #expect(local.status == 3, "\(local.errors)")
        #expect(local.errors.contains("expired at \(expiresAt)"), "\(local.errors)")
    }
}
