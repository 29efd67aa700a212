/// Where everyone stands in every cell.
struct OverviewSection {
    var cells: [CellSummary]
    var verdicts: [FetchVerdicts]

    var html: String {
        Section(
            id: "overview", title: "Against the fastest peer",
            findings: [
                Findings.overview(verdicts), Findings.http(verdicts), Findings.baseline(verdicts),
            ],
            note: """
                Answers a second over those of whichever peer is fastest in the same cell, on a \
                scale where each step is twice the one before. A cell is a payload size and a \
                load: connections × requests in flight on each.
                """,
            body: "<figure>\(legend)\(OverviewChart(cells: cells).html)</figure>\n"
        ).html
    }

    private var legend: String {
        func item(_ shape: String, _ words: String) -> String {
            """
            <li><svg width="18" height="14" aria-hidden="true">\(shape)</svg>\(words)</li>
            """
        }
        return """
            <ul class="legend">
            \(item("<circle class=\"s-blobd\" cx=\"9\" cy=\"7\" r=\"6\"/>", "blobd, binary"))
            \(item("<circle class=\"s-http\" cx=\"9\" cy=\"7\" r=\"5.5\"/>", "blobd, HTTP"))
            \(item("<circle class=\"s-peer\" cx=\"9\" cy=\"7\" r=\"3.5\"/>", "peers"))
            \(item("<line class=\"c-mark\" x1=\"9\" x2=\"9\" y1=\"0\" y2=\"14\"/>", "C program"))
            </ul>

            """
    }
}

/// Answers a second, cell by cell.
struct ThroughputSection {
    var cells: [CellSummary]
    var verdicts: [FetchVerdicts]

    var html: String {
        Section(
            id: "throughput", title: "Answers a second", findings: [Findings.fastestSize(cells)],
            note: """
                Longer is better. Each panel has a scale of its own; the thin line goes from the \
                slowest to the fastest sample.
                """,
            body: panels + table
        ).html
    }

    private var panels: String {
        BySize.html(cells) { cell in
            BarPanel(
                title: cell.cell.load.title, unit: "answers a second",
                rows: cell.servers.map {
                    BarPanel.Row(
                        label: $0.server.label, spread: $0.rate,
                        value: NumberText.short($0.rate.median), paint: HTML.paint($0.server))
                }
            ).html
        }
    }

    private var table: String {
        HTML.details(
            "All figures of all cells",
            header: [
                "cell", "server", "answers/s", "least", "most", "MB/s", "p50", "p99", "server CPU",
                "generator busy",
            ],
            rows: cells.flatMap { cell in
                cell.servers.map { one in
                    let rate = one.rate
                    return [
                        cell.cell.label, one.server.label,
                        NumberText.grouped(Int(rate.median.rounded())),
                        NumberText.grouped(Int(rate.least.rounded())),
                        NumberText.grouped(Int(rate.most.rounded())),
                        NumberText.grouped(
                            Int((rate.median * Double(cell.cell.byteCount) / 1e6).rounded())),
                        NumberText.time(microseconds: one.p50.median),
                        NumberText.time(microseconds: one.p99.median),
                        one.serverTime.map { NumberText.time(microseconds: $0.median) } ?? "–",
                        NumberText.percent(one.generatorShare.median),
                    ]
                }
            })
    }
}

/// How soon answers come.
struct LatencySection {
    var cells: [CellSummary]
    var verdicts: [FetchVerdicts]

    var html: String {
        Section(
            id: "latency", title: "How soon", findings: [Findings.latency(verdicts)],
            note: """
                Further left is better, on a logarithmic scale of each panel's own. From asking to the whole answer: the hollow dot is the \
                median, the full one the 99th percentile. Every connection asks again as soon as it \
                is answered, so the times of many connections are waiting in line above all.
                """,
            body: panels
        ).html
    }

    private var panels: String {
        BySize.html(cells) { LatencyPanel(title: $0.cell.load.title, servers: $0.servers).html }
    }
}

/// What an answer costs the server.
struct ServerTimeSection {
    var cells: [CellSummary]

    var html: String {
        // Under this load the servers neither wait nor answer many requests with one call.
        let some = cells.filter {
            $0.cell.load.inFlight == 1 && $0.cell.load.connections > 1
                && $0.servers.contains { $0.serverTime != nil }
        }
        guard !some.isEmpty else { return "" }
        let panels = some.map { cell in
            BarPanel(
                title: NumberText.bytes(cell.cell.byteCount), unit: "processor time for one answer",
                rows: cell.servers.compactMap { one in
                    one.serverTime.map {
                        BarPanel.Row(
                            label: one.server.label, spread: $0,
                            value: NumberText.time(microseconds: $0.median),
                            paint: HTML.paint(one.server))
                    }
                }
            ).html
        }
        return Section(
            id: "cpu", title: "Processor time for one answer",
            findings: [Findings.serverTime(some)],
            note: """
                Shorter is better. All processes of a server together, user and system time, with \
                \(some[0].cell.load.title).
                """,
            body: "<div class=\"panels four\">\(panels.joined())</div>\n"
        ).html
    }
}

/// Panels beneath a heading for each size.
enum BySize {
    /// - Parameter panel: draws a cell.
    static func html(_ cells: [CellSummary], panel: (CellSummary) -> String)
        -> String
    {
        var html = ""
        for size in cells.map(\.cell.byteCount).uniqued() {
            html += "<h3>\(HTML.text(NumberText.bytes(size)))</h3>\n<div class=\"panels\">\n"
            for cell in cells where cell.cell.byteCount == size { html += panel(cell) }
            html += "</div>\n"
        }
        return html
    }
}

extension Sequence where Element: Hashable {
    /// Each once, in the order of their first appearance.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
