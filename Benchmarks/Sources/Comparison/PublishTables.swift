/// The tables of publishes as Markdown.
struct PublishTables {
    let report: PublishReport

    /// Empty without figures.
    var text: String {
        let groups = PublishGroup.all(report.samples)
        guard !groups.isEmpty else { return "" }
        return ([PublishWords(report: report).method + "\n"] + groups.map(tables)).joined(
            separator: "\n")
    }

    private func tables(_ group: PublishGroup) -> String {
        let servers = Server.allCases.filter { server in
            group.cells.contains { $0[server] != nil }
        }
        let subjects = servers.filter { $0.role == .subject }
        func rows(_ columns: (PublishSummary) -> [String]) -> [[String]] {
            group.cells.map { cell in
                [NumberText.bytes(cell.cell.byteCount), "\(cell.cell.publishers)"] + columns(cell)
            }
        }
        let rates = MarkdownTable(
            ["\(group.title): publishes a second", "publishers"] + servers.map(\.label)
                + subjects.map { "\($0.label) / redis" },
            rows: rows { cell in
                servers.map { cell[$0].map { NumberText.short($0.rate.median) } ?? "–" }
                    + subjects.map { Self.mark(cell, $0) }
            })
        let costs = MarkdownTable(
            ["processor time a publish, user + kernel", "publishers"] + servers.map(\.label)
                + subjects.map { "redis / \($0.label)" },
            rows: rows { cell in
                servers.map { cell[$0]?.timeText ?? "–" } + subjects.map(cell.timeRatioText)
            })
        let written = MarkdownTable(
            ["bytes written a byte published", "publishers"] + servers.map(\.label),
            rows: rows { cell in
                servers.map { server in
                    (cell[server]?.bytesWritten).map { NumberText.fixed($0, 2) } ?? "–"
                }
            })
        let verdicts = group.verdicts.map { "* \($0)\n" }.joined()
        return [rates.text, costs.text, written.text, verdicts].filter { !$0.isEmpty }
            .joined(separator: "\n")
    }

    private static func mark(_ cell: PublishSummary, _ server: Server) -> String {
        guard let isAhead = cell.isAhead(server) else { return "–" }
        return "\(isAhead ? "✓" : "✗") \(cell.ratioText(server))"
    }
}

/// How publishes were measured, in words for the tables and for the page.
struct PublishWords {
    let report: PublishReport

    var method: String {
        let fixed = report.idCounts.sorted { $0.key < $1.key }.map {
            "\(NumberText.grouped($0.value)) of \(NumberText.bytes($0.key))"
        }
        let replaced = """
            ids replaced: a fixed set (\(fixed.joined(separator: ", "))), of which every one was \
            replaced before the first round.
            """
        let expiring = """
            ids expiring: each a second after it came, as many a second as come.
            """
        var text = """
            Durable publishes in a steady state: \(report.roundCount) alternating rounds of \
            \(NumberText.fixed(report.seconds, 1)) s.\(fixed.isEmpty ? "" : " \(replaced)")\
            \(expires ? " \(expiring)" : "") Ratios of publishes a second: the median of the \
            rounds, the least and the most. Processor time: all processes of the server, in all \
            rounds. Bytes written: those of the device until all was synced, in all rounds. \
            \(storages).
            """
        if !report.omissions.isEmpty {
            text += " Left out: \(report.omissions.joined(separator: "; "))."
        }
        return text
    }

    private var expires: Bool { report.samples.contains { $0.cell.turnover == .expiring } }

    private var storages: String {
        report.storages.map {
            "\($0.fileSystem): \($0.device), a sync of 4 KiB takes "
                + NumberText.time(microseconds: $0.syncMicroseconds)
        }.joined(separator: ". ")
    }
}
