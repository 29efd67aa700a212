import Foundation
import TestSupport
import Testing

@testable import blobd

/// What is written from the table of settings: `docs/CONFIGURATION.md` and the package's `blobd.yaml`.
///
/// After a change to the table: `UPDATE_DOCS=1 swift test --filter ConfigurationDocumentTests`.
@Suite(.waiting) struct ConfigurationDocumentTests {
    private static let update = "run UPDATE_DOCS=1 swift test --filter ConfigurationDocumentTests"

    @Test("The tables of CONFIGURATION.md are those of the settings")
    func tables() throws {
        let path = "\(Files.package)/docs/CONFIGURATION.md"
        let parts = Files.text(path).components(separatedBy: Self.marker)
        try #require(parts.count == 3, "the tables stand between two lines \(Self.marker)")
        let tables = "\n" + Self.tables + "\n"
        if getenv("UPDATE_DOCS") != nil {
            let text = [parts[0], tables, parts[2]].joined(separator: Self.marker)
            try Files.write(Array(text.utf8), to: path)
        } else {
            #expect(parts[1] == tables, "\(Self.update)")
        }
    }

    @Test("The example has every setting with its default, and a daemon starts with it")
    func example() throws {
        let path = "\(Files.package)/Packaging/blobd.yaml"
        if getenv("UPDATE_DOCS") != nil { try Files.write(Array(Self.example.utf8), to: path) }
        #expect(Files.text(path) == Self.example, "\(Self.update)")

        let daemon = try DaemonProcess(["--config", path])
        #expect(try daemon.request("GET", "/readyz").status == 200)
        // With every line that has a value, as a person would uncomment them.
        let all = Self.example.replacing(#/(?m)^#(\S+: )/#) { "\($0.1)" }
        let file = try daemon.folder.write("all.yaml", Array(all.utf8))
        let shown = try blobd(["serve", "--config", file, "--print-config"])
        #expect(shown.status == 0, "\(shown.errors)")
        let lines = shown.text.split(separator: "\n").dropFirst()
        #expect(lines.filter { !$0.contains("all.yaml:") && !$0.hasSuffix("default") }.isEmpty)
        #expect(lines.filter { $0.contains("all.yaml:") }.count > 25)
    }

    private static let marker = "<!-- settings -->"

    private static var tables: String {
        Setting.sections.map { title, settings in
            var text = """

                ### \(title)

                | setting | value | default | meaning |
                |---|---|---|---|

                """
            for setting in settings where !setting.isHidden {
                let bounds = setting.bounds.map(bounds) ?? ""
                let values =
                    setting.expected.hasPrefix("one of ")
                    ? setting.expected.replacing("one of ", with: "")
                    : setting.valueName.replacing("|", with: " or ")
                text += """
                    | `\(setting.name)`\(setting.change == .live ? "" : "†") \
                    | \(setting.kind == .list ? "list of " : "")\(values)\(bounds) \
                    | \(setting.defaultText ?? "") | \(setting.help) |

                    """
            }
            return text
        }.joined()
    }

    /// What limits a value in practice: a maximum of terabytes or of years does not.
    private static func bounds(_ text: String) -> String {
        guard let range = text.wholeMatch(of: #/(\S+) to (\S+)/#) else { return ", \(text)" }
        guard range.2.contains(#/TiB$|^\d{4,}d$|^\d{10,}$/#) else { return ", \(text)" }
        return range.1.hasPrefix("0") ? "" : ", at least \(range.1)"
    }

    private static var example: String {
        var text = """
            # The configuration of blobd, with the defaults. A key is a flag of `blobd serve` without its dashes.
            # The environment (BLOBD_MAX_PAYLOAD=10MB) precedes this file, and a flag the environment.
            #
            # Test a change:  blobd serve --config /etc/blobd/blobd.yaml --check-config
            # Put it to use:  systemctl reload blobd     (what cannot change says so in the log)
            #
            # Sizes: 65536, 512KiB, 64MiB, 10MB. Times: 500ms, 90s, 24h, 30d.

            """
        let given = ["data": "/var/lib/blobd", "socket": "/run/blobd/blobd.sock"]
        for (title, settings) in Setting.sections {
            text += "\n# \(title)\n"
            for setting in settings where !setting.isHidden {
                text += "\n" + comment(setting.help)
                if let value = given[setting.name] {
                    text += "\(setting.name): \(value)\n"
                } else if let value = setting.defaultText, setting.parses(value) {
                    text += "#\(setting.name): \(value)\n"
                } else {
                    let note = setting.defaultText.map { " (default: \($0))" } ?? ""
                    text += "# \(setting.name): \(setting.valueName.uppercased())\(note)\n"
                }
            }
        }
        return text
    }

    /// A text as comments of at most 100 columns.
    private static func comment(_ text: String) -> String {
        var lines = ["#"]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count >= 100 { lines.append("#") }
            lines[lines.count - 1] += " \(word)"
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Setting {
    /// Whether a text is a value of this setting.
    fileprivate func parses(_ text: String) -> Bool {
        var options = Setting.unset
        do throws(Mismatch) {
            try set([text], &options)
            return true
        } catch {
            return false
        }
    }
}
