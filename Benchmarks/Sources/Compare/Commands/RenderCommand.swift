import ArgumentParser

/// `compare render`: the page and the tables of a report that was made before.
struct RenderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "render", abstract: "Write the page and the tables of a report made before.")

    @Argument(help: ArgumentHelp("The report.", valueName: "report.json"))
    var report: String

    @Option(help: ArgumentHelp("Where report.html and report.md go.", valueName: "folder"))
    var output: String = "."

    mutating func run() throws {
        let report = try ReportFiles.read(report)
        try ReportFiles(folder: output).writePage(of: report)
    }
}
