/// The tables as Markdown, for a README.
public struct Markdown {
    private let report: Report

    /// The tables of a report.
    public init(_ report: Report) { self.report = report }

    /// The tables, those that have figures.
    public var text: String {
        [facts, fetches, verdicts, publishes, reads, workers]
            .filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var facts: String {
        let (machine, method) = (report.machine, report.method)
        return """
            \(machine.processor), \(machine.cores) cores, \(machine.kernel), \(machine.fileSystem), \
            \(machine.date.prefix(10)), blobd \(machine.commit). Medians of \(method.sampleCount) \
            alternating samples of \(NumberText.fixed(method.seconds, 1)) s\(starts)\(longSamples); server and load generator \
            each on a core of its own; Unix sockets. \(versions).

            """
    }

    private var longSamples: String { report.method.longSamples.map { " (\($0))" } ?? "" }

    private var starts: String {
        report.method.severalStarts.map { " in \($0) starts of all servers" } ?? ""
    }

    private var versions: String {
        report.servers.filter { $0.server.role == .peer }
            .map { "\($0.server.label) \($0.version)" }.joined(separator: ", ")
    }

    private var fetches: String {
        let cells = CellSummary.all(report.fetches)
        let servers = Server.allCases.filter { server in cells.contains { $0[server] != nil } }
        guard !servers.isEmpty else { return "" }
        return table(
            ["size", "connections × in flight"] + servers.map(\.label),
            rows: cells.map { cell in
                [NumberText.bytes(cell.cell.byteCount), cell.cell.load.label]
                    + servers.map { server in
                        guard let one = cell[server] else { return "–" }
                        let text = NumberText.short(one.rate.median)
                        return server == .blobd ? "**\(text)**" : text
                    }
            })
    }

    private var verdicts: String {
        let rows = CellSummary.all(report.fetches).map(FetchVerdicts.init)
        guard !rows.isEmpty else { return "" }
        return table(
            [
                "size", "connections × in flight", "blobd / fastest peer", "blobd / C",
                "HTTP / nginx", "HTTP / fastest peer", "best peer's p99 / blobd's",
            ],
            rows: rows.map { row in
                [NumberText.bytes(row.cell.byteCount), row.cell.load.label]
                    + [row.peer, row.baseline, row.nginx, row.httpPeer, row.latency].map(Self.mark)
            })
    }

    private var publishes: String {
        let cells = CellSummary.all(report.publishes)
        guard !cells.isEmpty else { return "" }
        let servers = Server.allCases.filter { server in cells.contains { $0[server] != nil } }
        return table(
            ["durable publishes", "publishers"] + servers.map(\.label)
                + ["blobd / redis", "HTTP / redis"],
            rows: cells.map { cell in
                [NumberText.bytes(cell.cell.byteCount), "\(cell.cell.load.connections)"]
                    + servers.map { cell[$0].map { NumberText.short($0.rate.median) } ?? "–" }
                    + [Server.blobd, .blobdHTTP].map { Self.mark(cell.publishVerdict($0)) }
            })
    }

    private var reads: String {
        let reads = ReadSummary.all(report)
        guard !reads.isEmpty else { return "" }
        return table(
            ["in process", "reads/s", "instructions a read", "against C"],
            rows: reads.map {
                [
                    $0.reader.label, NumberText.short($0.rate.median),
                    $0.instructions.map { NumberText.grouped(Int($0.rounded())) } ?? "–",
                    Self.mark($0.verdict),
                ]
            })
    }

    private var workers: String {
        let groups = WorkersSummary.all(report)
        guard !groups.isEmpty else { return "" }
        return table(
            ["workers", "cell", "answers/s", "server's cores", "generator's cores"],
            rows: groups.flatMap { group in
                group.rows.map {
                    [
                        "\($0.workers)", group.cell.label, NumberText.short($0.rate.median),
                        NumberText.fixed($0.serverCores.median, 2),
                        NumberText.fixed($0.generatorCores.median, 2),
                    ]
                }
            })
    }

    private static func mark(_ verdict: Verdict?) -> String {
        guard let verdict else { return "–" }
        let ratio = NumberText.ratio(verdict.ratio, target: verdict.target)
        return "\(verdict.isMet ? "✓" : "✗") \(ratio) (\(verdict.other))"
    }

    /// - Parameter rows: the cells of each, none of which has a `|`.
    private func table(_ header: [String], rows: [[String]]) -> String {
        var text = "| \(header.joined(separator: " | ")) |\n"
        text += "|\(header.map { _ in "---|" }.joined())\n"
        for row in rows { text += "| \(row.joined(separator: " | ")) |\n" }
        return text
    }
}
