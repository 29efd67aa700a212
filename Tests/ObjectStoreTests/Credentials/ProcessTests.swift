import Glibc
import TestSupport
import Testing

@testable import ObjectStore

/// Programs that give credentials, or do not.
@Suite struct ProcessTests {
    private static let document = IssuedKey(id: "KEY").document(
        "SessionToken", more: #""Version":1,"#)

    /// A provider whose program is a shell's script.
    private static func provider(
        _ script: String, in folder: TemporaryFolder, milliseconds: Int = 600_000
    ) throws -> CredentialsProvider {
        try folder.write("script", Array(script.utf8))
        try folder.write("document", Array(document.utf8))
        var limits = patientLimits
        limits.credentialsMilliseconds = milliseconds
        let config = "[profile p]\ncredential_process = /bin/sh \(folder)/script \"a b\" $HOME\n"
        return try ObjectStoreTests.provider(
            [
                "AWS_CONFIG_FILE": try folder.write("config", Array(config.utf8)),
                "AWS_PROFILE": "p",
            ],
            limits: limits)
    }

    @Test("It gets its arguments as they are written, nothing to read, and no descriptor of ours")
    func started() throws {
        let folder = TemporaryFolder()
        let input = try #require(fopen("/dev/null", "r"))
        defer { fclose(input) }
        let script = """
            { echo "$1|$2"; cat; ls /proc/self/fd | tr '\\n' ' '; trap; } >\(folder)/seen
            cat \(folder)/document
            """
        let provider = try Self.provider(script, in: folder)
        #expect(try provider.get(stop: StopSignal()).accessKeyID == "KEY")
        #expect("\(provider)".hasPrefix("access key KEY of credential_process of the profile [p]"))
        // ls has the folder open, too.
        #expect(Files.text(folder.path("seen")) == "a b|$HOME\n0 1 2 3 ")
    }

    @Test("One that fails is named, with how it ended")
    func failed() throws {
        let folder = TemporaryFolder()
        for (script, words) in [
            ("echo '{}'; exit 7", "/bin/sh ended with exit code 7"),
            ("kill -9 $$", "/bin/sh was killed by signal 9"),
            ("exec cat /dev/zero", "/bin/sh printed more than 65536 bytes"),
            ("", "/bin/sh: what it gives is not JSON"),
        ] {
            let provider = try Self.provider(script, in: folder)
            let error = try #require(throws: ObjectStoreError.self) {
                try provider.get(stop: StopSignal())
            }
            #expect(error.kind == .noCredentials && "\(error)".contains(words), "\(error)")
        }
        for (program, words) in [
            ("/no/program", "/no/program cannot be run: No such file"),
            (folder.path, "cannot be run: Permission denied"),
        ] {
            let config = "[default]\ncredential_process = \(program)\n"
            let error = try #require(throws: ObjectStoreError.self) {
                try ObjectStoreTests.provider(
                    ["AWS_CONFIG_FILE": try folder.write("config", Array(config.utf8))]
                ).get(stop: StopSignal())
            }
            #expect("\(error)".contains(words), "\(error)")
        }
    }

    /// Waits until a process that a script named in a file has ended.
    private static func waitForEnd(_ path: String) throws {
        let pid = try #require(pid_t(Files.text(path).filter { $0 != "\n" }))
        let patience = Patience()
        // It has been killed, but its new parent may not have reaped it.
        while kill(pid, 0) == 0, !Files.text("/proc/\(pid)/stat").contains(") Z ") {
            try patience.wait(orThrow: "\(pid) runs")
        }
    }

    @Test("One that hangs is killed at the limit, with what it started")
    func late() throws {
        let folder = TemporaryFolder()
        let script = "sleep 1000 & echo $! >\(folder)/child; echo $$ >\(folder)/self; wait"
        // It may be killed before it has written both.
        var milliseconds = 200
        while Files.text(folder.path("self")).last != "\n" {
            let provider = try Self.provider(script, in: folder, milliseconds: milliseconds)
            let error = try #require(throws: ObjectStoreError.self) {
                try provider.get(stop: StopSignal())
            }
            #expect(error.kind == .unavailable)
            #expect(
                "\(error)".contains("/bin/sh did not end within \(milliseconds) ms"), "\(error)")
            milliseconds *= 2
        }
        try Self.waitForEnd(folder.path("child"))
        try Self.waitForEnd(folder.path("self"))
    }

    @Test(
        "One that has closed its output is still waited for, and one that left it open to a child is not"
    )
    func outputs() throws {
        let folder = TemporaryFolder()
        let closed = try Self.provider(
            "cat \(folder)/document; exec >&-; while [ ! -e \(folder)/go ]; do sleep 0.01; done; exit 3",
            in: folder)
        startThread { _ = try? folder.write("go", []) }
        let error = try #require(throws: ObjectStoreError.self) {
            try closed.get(stop: StopSignal())
        }
        #expect("\(error)".contains("exit code 3"))
        let open = try Self.provider(
            "sleep 1000 & echo $! >\(folder)/child; cat \(folder)/document", in: folder)
        #expect(try open.get(stop: StopSignal()).accessKeyID == "KEY")
        let child = try #require(pid_t(Files.text(folder.path("child")).filter { $0 != "\n" }))
        #expect(kill(child, SIGKILL) == 0, "it was not waited for, nor killed")
    }

    @Test("The stop signal ends it at once")
    func stopped() throws {
        let folder = TemporaryFolder()
        let provider = try Self.provider("echo $$ >\(folder)/self; exec sleep 1000", in: folder)
        let stop = StopSignal()
        startThread {
            let patience = Patience()
            while Files.text(folder.path("self")).last != "\n",
                (try? patience.wait(orThrow: "")) != nil
            {}
            stop.stop()
        }
        #expect(kind(try provider.get(stop: stop)) == .stopped)
        try Self.waitForEnd(folder.path("self"))
        // Another one's stop is not this one's.
        _ = try Self.provider("cat \(folder)/document", in: folder)
        #expect(try provider.get(stop: StopSignal()).accessKeyID == "KEY")
    }
}
