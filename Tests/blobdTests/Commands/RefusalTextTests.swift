import BlobClient
import TestSupport
import Testing

/// What the commands say of mistakes: what is wrong, and what would be right.
@Suite(.waiting) struct RefusalTextTests {
    @Test(
        "Mistakes of the command line",
        arguments: [
            // "No such file or directory".
            (
                ["publish", "1", "--part", "payload=sha256:abcd"],
                "payload=sha256:abcd is not a digest: sha256: and 64 hexadecimal digits"
            ),
            // "(invalid at byte 3)".
            (["put", "1", "/dev/null", "--type", "jpg"], "such as image/jpeg"),
            (["put", "1", "/dev/null", "--type", "mp3"], "such as audio/mpeg"),
            (["put", "1", "/dev/null", "--type", "picture"], "such as image/jpeg"),
            (["delete", "1"], "there is no command 'delete'; did you mean blobd rm?"),
            (["info", "1"], "did you mean blobd stat?"),
            (["version"], "did you mean blobd --version?"),
            (["publsh", "1"], "the nearest is publish"),
            (["xyzzyxyzzy"], "there is no command 'xyzzyxyzzy'. See blobd --help"),
        ])
    func mistakes(arguments: [String], words: String) throws {
        let result = try blobd(arguments, socket: "/nonexistent/s")
        #expect(result.status == 2)
        #expect(result.output == [])
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    /// The parser's began with "Error:".
    @Test(
        "All errors begin with the program's name",
        arguments: [
            ["put", "1"], ["put", "1", "/dev/null", "--tll", "5"], ["get"], ["ls", "--limit", "x"],
            ["delete"], ["put", "1", "/nonexistent"], ["stat", "1"], ["serve", "--workers", "x"],
        ])
    func prefix(arguments: [String]) throws {
        let result = try blobd(arguments, socket: "/nonexistent/s")
        #expect(result.status != 0)
        #expect(result.errors.hasPrefix("blobd: "), "\(result.errors)")
        #expect(!result.errors.contains("Error: "), "\(result.errors)")
    }

    @Test("A lifetime over the limit is answered in days, as it was given")
    func lifetimes() throws {
        let daemon = try DaemonProcess()
        let file = try daemon.folder.write("a", [1])
        let long = try daemon.run("put", "1", file, "--ttl", "60d")
        #expect(long.status == 1)
        #expect(
            long.errors.contains("5184000 s (60d) is too long; the limit is 30d (max-ttl)"),
            "\(long.errors)")
        let odd = try daemon.run("put", "1", file, "--ttl", "2592001")
        #expect(odd.errors.contains("(30d 1s) is too long"), "\(odd.errors)")
        let late = try daemon.run("put", "1", file, "--expires-at", "2999-01-01T00:00:00Z")
        #expect(late.errors.contains("away; the limit is 30d (max-ttl)"), "\(late.errors)")
    }

    @Test("An unknown category is refused with those that are known")
    func categories() throws {
        let daemon = try DaemonProcess()
        func publish(_ arguments: String...) throws -> CommandResult {
            try blobd(
                ["publish", "1", "--message", "m", "--category", "invite"] + arguments,
                socket: daemon.socketPath)
        }
        let none = try publish()
        #expect(none.status == 1 && none.errors.contains("there are none"), "\(none.errors)")
        for (name, app) in [("invitation", nil), ("chat", "mail"), ("call", "phone")] {
            let ofApp = app.map { ["--app", $0] } ?? []
            let arguments = ["category", name, "--actions", "[]"] + ofApp
            #expect(try blobd(arguments, socket: daemon.socketPath).status == 0)
        }
        #expect(try publish().errors.contains("known are invitation\n"))
        let mail = try publish("--app", "mail")
        #expect(mail.errors.contains("unknown_category"), "\(mail.errors)")
        #expect(mail.errors.contains("known are chat, invitation\n"), "\(mail.errors)")
    }

    @Test("An unknown action is refused with those that are known")
    func actions() throws {
        let daemon = try DaemonProcess()
        let yes = #"[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]"#
        #expect(try daemon.run("category", "invitation", "--actions", yes).status == 0)
        for arguments in [["--category", "invitation"], ["--actions", yes]] {
            let published = try blobd(
                ["publish", "1", "--message", "m"] + arguments, socket: daemon.socketPath)
            #expect(published.status == 0, "\(published.errors)")
            let refused = try daemon.run("mark", "1", "--action", "maybe")
            #expect(refused.status == 1)
            #expect(
                refused.errors.contains("known are default, dismiss, yes, no\n"),
                "\(refused.errors)")
        }
    }

    @Test("A cursor that is none is refused, and not printed as the place to go on from")
    func cursor() throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.run("publish", "1", "--owner", "ann", "--message", "m").status == 0)
        for follow in [[], ["--follow"]] {
            let refused = try blobd(
                ["changes", "ann", "--since", "abc"] + follow, socket: daemon.socketPath)
            #expect(refused.status != 0)
            #expect(refused.errors.hasPrefix("blobd: "), "\(refused.errors)")
            #expect(!refused.errors.contains("cursor: "), "\(refused.errors)")
        }
        #expect(try daemon.run("changes", "ann").errors.hasPrefix("cursor: "))
    }

    @Test("An empty list says that it is empty")
    func noCategories() throws {
        let daemon = try DaemonProcess()
        let empty = try daemon.run("category")
        #expect(empty.status == 0 && empty.output == [])
        #expect(empty.errors == "no categories\n")
        #expect(try daemon.run("category", "invitation", "--actions", "[]").status == 0)
        let one = try daemon.run("category")
        #expect(one.text.contains("invitation") && one.errors.isEmpty)
    }
}
