import Foundation
import TestSupport
import Testing

/// What `Scripts/lib.sh` does about missing packages. `Scripts/run` called `sudo` without a word of what it
/// would install, and without asking.
///
/// `id`, `sudo` and `apt-get` are stand-ins that write down how they were called.
@Suite struct InstallTests {
    private struct Result {
        var status: Int32
        var words: String
        var calls: String
    }

    /// Runs `install_missing` for a package that is missing and one that is not.
    ///
    /// - Parameter answer: what is typed on the terminal; nil: there is none.
    private static func install(asUser user: Int, answer: String?) throws -> Result {
        let folder = TemporaryFolder()
        let calls = folder.path("calls")
        for (name, body) in [
            ("id", "echo \(user)"),
            ("sudo", "echo \"sudo $*\" >>\(calls); exec \"$@\""),
            ("apt-get", "echo \"apt-get $*\" >>\(calls)"),
        ] {
            let path = try folder.write(name, Array("#!/bin/sh\n\(body)\n".utf8))
            chmod(path, 0o755)
        }
        let lib = "\(Files.package)/Scripts/lib.sh"
        let script = try folder.write(
            "script",
            Array(
                """
                set -euo pipefail
                PATH=\(folder.path):$PATH
                source \(lib)
                install_missing 'no-such-package:false' 'bash:command -v bash'
                say installed
                """.utf8))
        let input = try folder.write("input", Array((answer ?? "").utf8))
        // script(1) gives its command a terminal.
        let command =
            answer == nil
            ? "bash \(script) </dev/null"
            : "cat \(input) | script -qec 'bash \(script)' /dev/null"
        let (end, output, errors) = try run(["/bin/sh", "-c", "exec 2>&1; \(command)"])
        return Result(
            status: end.code, words: String(decoding: output, as: UTF8.self) + errors,
            calls: Files.text(calls))
    }

    @Test func withoutATerminalItSaysWhatItInstallsAndDoesNotAsk() throws {
        let result = try Self.install(asUser: 1_000, answer: nil)
        #expect(result.status == 0, "\(result.words)")
        #expect(result.words.contains("to be installed with apt-get: no-such-package\n"))
        #expect(!result.words.contains("[y/N]"))
        #expect(result.calls.contains("sudo apt-get update"))
        #expect(result.calls.contains("no-such-package"))
    }

    @Test func rootIsNotAskedAndNeedsNoSudo() throws {
        for answer in [nil, "n\n"] {
            let result = try Self.install(asUser: 0, answer: answer)
            #expect(result.status == 0, "\(result.words)")
            #expect(result.words.contains("to be installed with apt-get: no-such-package"))
            #expect(!result.words.contains("[y/N]"))
            #expect(!result.calls.contains("sudo"))
            #expect(result.calls.contains("apt-get install"))
        }
    }

    @Test(
        "On a terminal sudo is asked for, and not used without a yes",
        .enabled(if: isInstalled("script"), "needs script"),
        arguments: [
            ("y\n", true), ("yes\n", true), ("n\n", false), ("\n", false), ("sure\n", false),
        ])
    func onATerminalItAsks(answer: String, isInstalled: Bool) throws {
        let result = try Self.install(asUser: 1_000, answer: answer)
        #expect(result.words.contains("Run \"sudo apt-get install no-such-package\" now? [y/N]"))
        #expect((result.status == 0) == isInstalled, "\(result.words)")
        #expect(result.words.contains("installed\r\n") == isInstalled)
        #expect(result.calls.contains("sudo") == isInstalled)
        if !isInstalled {
            #expect(result.words.contains("Nothing was installed"))
            #expect(result.words.contains("sudo apt-get install no-such-package"))
        }
    }
}
