import BlobServer
import Foundation
import TestSupport
import Testing

/// What goes into the Debian package. `Scripts/package-check` tries the package itself.
@Suite(.waiting) struct DebianPackageTests {
    @Test("The changelog's version is the program's")
    func version() throws {
        let changelog = Files.text("\(Files.package)/Packaging/debian/changelog")
        #expect(changelog.hasPrefix("blobd (\(blobdVersion)) "))
        #expect(try blobd(["--version"]).text == blobdVersion + "\n")
    }

    @Test(
        "A version that this commit is tagged with is the program's",
        .enabled(if: Files.exists("\(Files.package)/.git"), "this is no clone"))
    func tag() throws {
        // Without it git refuses a clone of another user.
        let (end, output, errors) = try run([
            "git", "-c", "safe.directory=*", "-C", Files.package, "tag", "--points-at", "HEAD",
        ])
        try #require(end == .exited(0), "\(errors)")
        for tag in String(decoding: output, as: UTF8.self).split(separator: "\n") {
            let name = tag.drop { $0 == "v" }
            // Only a version is one of a release.
            if name.first?.isNumber == true { #expect(name == blobdVersion) }
        }
    }

    @Test("Each command has a man page with its options")
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

    /// A folder that stands for a host's root, where stand-ins write down how they were called.
    private struct Site {
        let folder = TemporaryFolder()

        init() throws {
            for name in ["bin", "run", "run/systemd", "run/systemd/system", "etc", "etc/systemd"] {
                mkdir(folder.path(name), 0o755)
            }
            for name in ["etc/systemd/system", "etc/systemd/system/multi-user.target.wants"] {
                mkdir(folder.path(name), 0o755)
            }
            for (name, body) in [
                ("deb-systemd-invoke", ""), ("systemctl", ""), ("systemd-sysusers", ""),
                ("systemd-tmpfiles", ""), ("userdel", ""), ("groupdel", ""),
                ("getent", "echo blobd:x:\(getuid()):\(getuid())::/:/"),
                // It takes away what it has masked itself.
                (
                    "deb-systemd-helper",
                    "[ \"$1\" != unmask ] || rm -f \"$DPKG_ROOT/etc/systemd/system/$2\""
                ),
            ] {
                let text = "#!/bin/sh\necho \"\(name) $*\" >>\"$DPKG_ROOT/calls\"\n\(body)\n"
                chmod(try folder.write("bin/\(name)", Array(text.utf8)), 0o755)
            }
        }

        func link(_ name: String, to target: String) {
            #expect(symlink(target, folder.path("etc/systemd/system/\(name)")) == 0)
        }

        /// Runs a script of the package. Returns what it called.
        func run(_ script: String, _ arguments: String...) throws -> String {
            Files.remove(folder.path("calls"))
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let (end, _, errors) = try TestSupport.run(
                ["/bin/sh", "\(Files.package)/Packaging/debian/\(script)"] + arguments,
                environment: [
                    "DPKG_ROOT": folder.path, "PATH": "\(folder.path("bin")):\(path)",
                ])
            #expect(end == .exited(0), "\(errors)")
            return Files.text(folder.path("calls"))
        }
    }

    /// An install after a removal has the version that was there as its argument, like an upgrade.
    @Test("What was removed is started when it is installed again, and what was stopped is not")
    func reinstall() throws {
        let start = "deb-systemd-invoke start blobd.socket blobd.service\n"
        let upgrade = try Site().run("postinst", "configure", "0.1.0")
        #expect(!upgrade.contains("invoke start") && upgrade.contains("try-restart blobd.service"))
        #expect(try Site().run("postinst", "configure", "").contains(start))
        let removed = try Site()
        removed.link("blobd.service", to: "/dev/null")
        removed.link("blobd.socket", to: "/dev/null")
        removed.link(
            "multi-user.target.wants/blobd@one.service", to: "/lib/systemd/system/blobd@.service")
        removed.link(
            "multi-user.target.wants/blobd-backup.timer",
            to: "/lib/systemd/system/blobd-backup.timer")
        let again = try removed.run("postinst", "configure", "0.1.0")
        #expect(again.contains(start), "\(again)")
        for unit in ["blobd@one.service", "blobd-backup.timer"] {
            #expect(again.contains("deb-systemd-invoke start \(unit)\n"), "\(again)")
        }
    }

    /// A purge deleted every store without a question.
    @Test(
        "A purge deletes stores and keys only after a yes",
        arguments: ["true", "false", nil] as [String?])
    func purge(answer: String?) throws {
        let site = try Site()
        for name in [
            "var", "var/lib", "var/lib/blobd", "var/lib/blobd-one", "var/lib/blobd-other",
            "var/log", "usr", "usr/share", "usr/share/debconf",
            "etc/blobd", "etc/systemd/system/blobd.service.wants",
        ] {
            mkdir(site.folder.path(name), 0o755)
        }
        try site.folder.write("etc/blobd/signing-keys", [1])
        if let answer {
            let text = """
                db_input() { echo "asked $2"; }
                db_get() { RET=\(answer); }
                db_go() { :; }; db_purge() { :; }; db_stop() { :; }
                """
            try site.folder.write("usr/share/debconf/confmodule", Array(text.utf8))
        }
        site.link("blobd.service.wants/devices", to: "/lib/systemd/system/blobd-devices.socket")
        site.link(
            "multi-user.target.wants/blobd@one.service", to: "/lib/systemd/system/blobd@.service")
        site.link("multi-user.target.wants/other.service", to: "/lib/systemd/system/other.service")
        // Here the user blobd is the one that runs the tests.
        let isOther = chown(site.folder.path("var/lib/blobd-other"), 12_345, 12_345) == 0
        let calls = try site.run("postrm", "purge")
        let isDeleted = answer == "true"
        for name in ["etc/blobd/signing-keys", "var/lib/blobd", "var/lib/blobd-one"] {
            #expect(Files.exists(site.folder.path(name)) != isDeleted, "\(name)")
        }
        #expect(calls.contains("userdel") == isDeleted)
        #expect(!Files.exists(site.folder.path("etc/systemd/system/blobd.service.wants")))
        #expect(Files.exists(site.folder.path("var/lib/blobd-other")) == (isOther || !isDeleted))
        let wants = site.folder.path("etc/systemd/system/multi-user.target.wants")
        #expect(try FileManager.default.contentsOfDirectory(atPath: wants) == ["other.service"])
    }
}
