/// Publishes that are on disk before they are answered.
struct PublishSection {
    var report: PublishReport

    var html: String {
        let groups = PublishGroup.all(report.samples)
        guard !groups.isEmpty else { return "" }
        let body = groups.map { group in
            """
            <h3>\(HTML.text(group.title)): publishes a second</h3>
            \(panels(group) { Self.rates($0) })
            <h3>\(HTML.text(group.title)): processor time a publish</h3>
            \(panels(group) { Self.times($0) })
            <h3>\(HTML.text(group.title)): bytes written a byte published</h3>
            \(panels(group) { Self.bytes($0) })
            \(Self.table(group))
            """
        }
        return Section(
            id: "publishes", title: "Durable publishes",
            findings: groups.flatMap(\.verdicts),
            note: """
                \(PublishWords(report: report).method) Of publishes a second more is better, of \
                processor time and bytes written less. Bodies are all different, and each publisher \
                waits until its own is on disk. redis appends to a log with appendfsync always, which \
                it rewrites when it has doubled; blobd writes to its write-ahead log and to its \
                store. What the kernel does for both outside their processes, such as writing back, \
                is in nobody's processor time. memcached, nginx and varnish keep nothing durable by \
                themselves.
                """,
            body: body.joined() + started
        ).html
    }

    /// - Parameter panel: draws a cell; empty where its figures are unknown.
    private func panels(_ group: PublishGroup, panel: (PublishSummary) -> String) -> String {
        let drawn = group.cells.map(panel).joined()
        return drawn.isEmpty
            ? "<p class=\"note\">Not known here.</p>\n"
            : "<div class=\"panels\">\n\(drawn)</div>\n"
    }

    private static func title(_ cell: PublishCell) -> String {
        "\(NumberText.bytes(cell.byteCount)), \(cell.publishersTitle)"
    }

    private static func rates(_ cell: PublishSummary) -> String {
        BarPanel(
            title: title(cell.cell), unit: "publishes a second",
            rows: cell.servers.map {
                BarPanel.Row(
                    label: $0.server.label, spread: $0.rate,
                    value: NumberText.short($0.rate.median), paint: HTML.paint($0.server))
            }
        ).html
    }

    private static func times(_ cell: PublishSummary) -> String {
        BarPanel(
            title: title(cell.cell), unit: "processor time, user and kernel",
            rows: cell.servers.compactMap { one in
                one.time.flatMap { Spread([$0]) }.map {
                    BarPanel.Row(
                        label: one.server.label, spread: $0, value: one.timeText,
                        paint: HTML.paint(one.server))
                }
            }
        ).html
    }

    private static func bytes(_ cell: PublishSummary) -> String {
        BarPanel(
            title: title(cell.cell), unit: "bytes written a byte published",
            rows: cell.servers.compactMap { one in
                one.bytesWritten.flatMap { Spread([$0]) }.map {
                    BarPanel.Row(
                        label: one.server.label, spread: $0,
                        value: NumberText.fixed($0.median, 2), paint: HTML.paint(one.server))
                }
            }
        ).html
    }

    private static func table(_ group: PublishGroup) -> String {
        HTML.details(
            "All figures of \(group.title)",
            header: [
                "cell", "server", "publishes/s", "least", "most", "against redis", "p50", "p99",
                "processor time, user + kernel", "redis's against it", "bytes written a byte",
            ],
            rows: group.cells.flatMap { cell in
                cell.servers.map { one in
                    [
                        title(cell.cell), one.server.label,
                        NumberText.grouped(Int(one.rate.median.rounded())),
                        NumberText.grouped(Int(one.rate.least.rounded())),
                        NumberText.grouped(Int(one.rate.most.rounded())),
                        cell.ratioText(one.server), NumberText.time(microseconds: one.p50.median),
                        NumberText.time(microseconds: one.p99.median), one.timeText,
                        cell.timeRatioText(one.server),
                        one.bytesWritten.map { NumberText.fixed($0, 2) } ?? "–",
                    ]
                }
            })
    }

    private var started: String {
        HTML.details(
            "How they were started for publishes",
            header: ["server", "version", "command", "request"],
            rows: report.servers.map { [$0.server.label, $0.version, $0.command, $0.request] })
    }
}
