import Comparison
import FoundationEssentials

/// `report.json`, `report.html` and `report.md` in a folder.
struct ReportFiles {
    /// The folder.
    let folder: String

    /// Makes the folder where it is missing: better before a quarter of an hour than after it.
    init(folder: String) throws {
        self.folder = folder
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
    }

    /// Reads a `report.json`.
    static func read(_ path: String) throws -> Report {
        try JSONDecoder().decode(Report.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// Writes all three.
    func write(_ report: Report) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(report).write(to: url("report.json"), options: .atomic)
        try writePage(of: report)
    }

    /// Writes the page and the tables.
    func writePage(of report: Report) throws {
        try Data(Page(report).html.utf8).write(to: url("report.html"), options: .atomic)
        try Data(Markdown(report).text.utf8).write(to: url("report.md"), options: .atomic)
    }

    private func url(_ name: String) -> URL { URL(filePath: "\(folder)/\(name)") }
}
