import BlobServer
import Foundation
import TestSupport
import Testing

/// What goes into the Debian package. `Scripts/package-check` tries the package itself.
@Suite struct DebianPackageTests {
    @Test("The changelog's version is the program's, and the tag's where there is one")
    func version() throws {
        let changelog = Files.text("\(Files.package)/Packaging/debian/changelog")
        #expect(changelog.hasPrefix("blobd (\(blobdVersion)) "))
        #expect(try blobd(["--version"]).text == blobdVersion + "\n")
        let tag = try run(["git", "-C", Files.package, "describe", "--tags", "--exact-match"])
        let name = String(decoding: tag.output, as: UTF8.self).drop { $0 == "v" }
        // Only a version is one of a release.
        guard tag.end == .exited(0), name.first?.isNumber == true else { return }
        #expect(name == blobdVersion + "\n")
    }

    @Test("Each command has a man page with its options", .enabled(if: hasPython, "needs python3"))
    func manPages() throws {
        let folder = TemporaryFolder()
        let (end, _, errors) = try run([
            "\(Files.package)/Packaging/man-pages", DaemonProcess.program, folder.path,
        ])
        #expect(end == .exited(0), "\(errors)")
        let help = try blobd(["--help"]).text
        let commands = try #require(help.range(of: "SUBCOMMANDS:"))
        for line in help[commands.upperBound...].split(separator: "\n")
        where line.hasPrefix("  ") && !line.hasPrefix("   ") && !line.hasPrefix("  See") {
            let name = line.split(separator: " ")[0]
            let page = Files.text(folder.path("blobd-\(name).1"))
            #expect(page.contains("\nblobd\\-\(name) \\- "), "\(name)")
        }
        let serve = Files.text(folder.path("blobd-serve.1"))
        #expect(serve.contains(".TP\n\\fB\\-\\-max\\-payload\\fR \\fIsize\\fR\n"))
        #expect(
            serve.contains(
                "\\fB\\-\\-write\\-ahead\\-log\\fR, \\fB\\-\\-no\\-write\\-ahead\\-log\\fR"))
    }

    @Test("Completions are there for three shells", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) throws {
        let script = try blobd(["--generate-completion-script", shell])
        #expect(script.status == 0 && script.text.contains("max-payload"))
    }

    private static let hasPython = (try? run(["python3", "--version"]).end) == .exited(0)
}
