import Foundation
import TestSupport
import Testing

/// `blobd serve --print-config`, and the flags of the table.
@Suite(.waiting) struct PrintConfigTests {
    @Test("Each value is shown with where it is from, and no key")
    func origins() throws {
        let folder = TemporaryFolder()
        let keys = try folder.write(
            "keys", Array("k c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA==\n".utf8))
        let file = try folder.write(
            "blobd.yaml", Array("# one\ndata: /d\nsigning-keys: \(keys)\nmax-ttl: 7d\n".utf8))
        let arguments = [
            DaemonProcess.program, "serve", "--config", file, "--spin", "7", "--print-config",
        ]
        let (end, output, errors) = try run(
            arguments, environment: ["BLOBD_SOCKET": "/s", "BLOBD_MAX_TTL": "8d"])
        #expect(end == .exited(0), "\(errors)")
        let rows = String(decoding: output, as: UTF8.self).split(separator: "\n").map {
            $0.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        }
        #expect(rows.contains(["data", "/d", "\(file):2"]))
        #expect(rows.contains(["signing-keys", keys, "\(file):3"]))
        #expect(rows.contains(["max-ttl", "8d", "BLOBD_MAX_TTL"]))
        #expect(rows.contains(["socket", "/s", "BLOBD_SOCKET"]))
        #expect(rows.contains(["spin", "7", "flag"]))
        #expect(rows.contains(["max-payload", "64MiB", "default"]))
        #expect(!String(decoding: output, as: UTF8.self).contains("c2VjcmV0"))
        #expect(!Files.exists("/d"))

        let json = try blobd(["serve", "--config", file, "--print-config", "--json"])
        let document = try JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any]
        let settings = try #require(document?["settings"] as? [[String: Any]])
        let row = try #require(settings.first { $0["name"] as? String == "max-ttl" })
        #expect(row["value"] as? String == "7d" && row["source"] as? String == "file")
        #expect(row["line"] as? Int == 4 && row["file"] as? String == file)
        #expect(row["is_live"] as? Bool == true)
    }

    @Test("Keys may be a credential of systemd's")
    func credentials() throws {
        let folder = TemporaryFolder()
        let keys = "k \(Data(repeating: 7, count: 32).base64EncodedString())\n"
        chmod(try folder.write("keys", Array(keys.utf8)), 0o440)
        let arguments = ["--signing-keys", "$CREDENTIALS_DIRECTORY/keys"]
        let file = try folder.write(
            "blobd.yaml", Array("signing-keys: $CREDENTIALS_DIRECTORY/keys\n".utf8))
        let daemon = try DaemonProcess(
            ["--config", file], in: folder, shell: "export CREDENTIALS_DIRECTORY=\(folder);")
        daemon.signal(SIGHUP)
        #expect(try daemon.request("GET", "/livez").status == 200)
        let without = try blobd(["serve"] + arguments)
        #expect(without.status == 2)
        #expect(without.errors.contains("there is no CREDENTIALS_DIRECTORY"))
    }
}
