/// The tables as Markdown, for a README.
public struct Markdown {
    private let report: Report

    /// The tables of a report.
    public init(_ report: Report) { self.report = report }

    /// The tables, those that have figures.
    public var text: String {
        [
            facts, fetches, verdicts, PublishTables(report: report.publishes).text, reads, workers,
        ]
        .filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var facts: String {
        let machine = report.machine
        return """
            \(machine.processor), \(machine.cores) cores, \(machine.kernel), \(machine.fileSystem), \
            \(machine.date.prefix(10)), blobd \(machine.commit), load average \
            \(NumberText.fixed(machine.loadAverage, 1)) when it began. \(samples)\
            Server and load generator each on a core of its own; Unix sockets. \(versions).

            """
    }

    private var samples: String {
        let method = report.method
        guard report.hasSamples else { return "" }
        return """
            Medians of \(method.sampleCount) alternating samples of \
            \(NumberText.fixed(method.seconds, 1)) s\(starts)\(longSamples).\u{20}
            """
    }

    private var longSamples: String { report.method.longSamples.map { " (\($0))" } ?? "" }

    private var starts: String {
        report.method.severalStarts.map { " in \($0) starts of all servers" } ?? ""
    }

    private var versions: String {
        report.everyone.filter { $0.server.role == .peer }
            .map { "\($0.server.label) \($0.version)" }.joined(separator: ", ")
    }

    private var fetches: String {
        let cells = CellSummary.all(report.fetches)
        let servers = Server.allCases.filter { server in cells.contains { $0[server] != nil } }
        guard !servers.isEmpty else { return "" }
        return MarkdownTable(
            ["size", "connections × in flight"] + servers.map(\.label),
            rows: cells.map { cell in
                [NumberText.bytes(cell.cell.byteCount), cell.cell.load.label]
                    + servers.map { server in
                        guard let one = cell[server] else { return "–" }
                        let text = NumberText.short(one.rate.median)
                        return server == .blobd ? "**\(text)**" : text
                    }
            }
        ).text
    }

    private var verdicts: String {
        let rows = CellSummary.all(report.fetches).map(FetchVerdicts.init)
        guard !rows.isEmpty else { return "" }
        return MarkdownTable(
            [
                "size", "connections × in flight", "blobd / fastest peer", "blobd / C",
                "HTTP / nginx", "HTTP / fastest peer", "best peer's p99 / blobd's",
            ],
            rows: rows.map { row in
                [NumberText.bytes(row.cell.byteCount), row.cell.load.label]
                    + [row.peer, row.baseline, row.nginx, row.httpPeer, row.latency].map(Self.mark)
            }
        ).text
    }

    private var reads: String {
        let reads = ReadSummary.all(report)
        guard !reads.isEmpty else { return "" }
        return MarkdownTable(
            ["in process", "reads/s", "instructions a read", "against C"],
            rows: reads.map {
                [
                    $0.reader.label, NumberText.short($0.rate.median),
                    $0.instructions.map { NumberText.grouped(Int($0.rounded())) } ?? "–",
                    Self.mark($0.verdict),
                ]
            }
        ).text
    }

    private var workers: String {
        let groups = WorkersSummary.all(report)
        guard !groups.isEmpty else { return "" }
        return MarkdownTable(
            ["workers", "cell", "answers/s", "server's cores", "generator's cores"],
            rows: groups.flatMap { group in
                group.rows.map {
                    [
                        "\($0.workers)", group.cell.label, NumberText.short($0.rate.median),
                        NumberText.fixed($0.serverCores.median, 2),
                        NumberText.fixed($0.generatorCores.median, 2),
                    ]
                }
            }
        ).text
    }

    private static func mark(_ verdict: Verdict?) -> String {
        guard let verdict else { return "–" }
        let ratio = NumberText.ratio(verdict.ratio, target: verdict.target)
        return "\(verdict.isMet ? "✓" : "✗") \(ratio) (\(verdict.other))"
    }
}
