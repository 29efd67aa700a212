/// `report.html`: one page with everything in it, which asks for nothing from elsewhere.
public struct Page {
    private let report: Report
    private let cells: [CellSummary]
    private let verdicts: [FetchVerdicts]

    /// The page of a report.
    public init(_ report: Report) {
        self.report = report
        cells = CellSummary.all(report.fetches)
        verdicts = cells.map(FetchVerdicts.init)
    }

    /// The page.
    public var html: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>blobd beside its peers</title>
        <style>
        \(PageStyle.css)
        </style>
        </head>
        <body>
        \(header)
        <main>
        \(fetchSections)
        \(PublishSection(report: report.publishes).html)
        \(ReadSection(report: report).html)
        \(WorkersSection(report: report).html)
        \(ServerSection(servers: report.everyone).html)
        \(MethodSection(report: report).html)
        </main>
        </body>
        </html>

        """
    }

    private var header: String {
        """
        <header>
        <h1><b>blobd</b> beside its peers</h1>
        <p class="lead">\(HTML.text(lead))</p>
        <p class="facts">\(HTML.text(facts))</p>
        \(Tiles(report: report, cells: cells, verdicts: verdicts).html)
        </header>
        """
    }

    private var lead: String {
        cells.isEmpty
            ? """
            Payloads over a Unix socket: how many a second, how soon, and at what cost, for blobd and \
            \(Self.list(peers)), on the same machine with the same load.
            """
            : """
            Payloads fetched by id over a Unix socket: how many a second, how soon, and at what \
            cost, for \(Self.list(peers)) and a bare C program, on the same machine with the same \
            load.
            """
    }

    private var fetchSections: String {
        guard !cells.isEmpty else { return "" }
        return """
            \(OverviewSection(cells: cells, verdicts: verdicts).html)
            \(TargetSection(report: report, verdicts: verdicts).html)
            \(ThroughputSection(cells: cells, verdicts: verdicts).html)
            \(LatencySection(cells: cells, verdicts: verdicts).html)
            \(ServerTimeSection(cells: cells).html)
            """
    }

    private var peers: [String] {
        report.everyone.map(\.server).filter { $0.role == .peer }.map(\.label)
    }

    private var facts: String {
        let machine = report.machine
        return """
            \(machine.date.prefix(10)) · blobd \(machine.commit) · \(machine.processor), \
            \(machine.cores) cores · \(machine.kernel) · \(machine.fileSystem)\
            \(report.hasSamples ? " · medians of \(report.method.sampleCount) alternating samples" : "")
            """
    }

    private static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return "\(names.dropLast().joined(separator: ", ")) and \(last)"
    }
}

/// A part of the page: a heading, what its charts show, and the charts.
struct Section {
    var id: String
    var title: String
    /// Sentences made from the figures.
    var findings: [String]
    /// How to read the charts.
    var note: String
    var body: String

    var html: String {
        var html =
            "<section aria-labelledby=\"\(id)\">\n<h2 id=\"\(id)\">\(HTML.text(title))</h2>\n"
        for finding in findings where !finding.isEmpty {
            html += "<p class=\"finding\">\(HTML.prose(finding))</p>\n"
        }
        if !note.isEmpty { html += "<p class=\"note\">\(HTML.prose(note))</p>\n" }
        return html + body + "</section>\n"
    }
}
