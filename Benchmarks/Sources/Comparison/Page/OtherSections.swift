/// Reads without a socket.
struct ReadSection {
    var report: Report

    var html: String {
        let reads = ReadSummary.all(report)
        guard !reads.isEmpty else { return "" }
        var rows = reads.map {
            BarPanel.Row(
                label: $0.reader.label, spread: $0.rate,
                value: NumberText.short($0.rate.median),
                paint: $0.reader.baseline == nil ? "s-c" : "s-blobd")
        }
        let socket = CellSummary.all(report.fetches).first {
            $0.cell.byteCount == report.readByteCount && $0.cell.load.connections == 1
        }
        for server in [Server.blobd, .memcached, .redis] {
            guard let one = socket?[server] else { continue }
            rows.append(
                BarPanel.Row(
                    label: "\(server.label), socket", spread: one.rate,
                    value: NumberText.short(one.rate.median), paint: HTML.paint(server)))
        }
        let panel = BarPanel(
            title: "Payloads of \(NumberText.bytes(report.readByteCount)), one thread",
            unit: "payloads a second", rows: rows)
        let table = HTML.details(
            "All figures of reads in process",
            header: ["reader", "reads/s", "least", "most", "instructions a read", "against C"],
            rows: reads.map {
                [
                    $0.reader.label, NumberText.grouped(Int($0.rate.median.rounded())),
                    NumberText.grouped(Int($0.rate.least.rounded())),
                    NumberText.grouped(Int($0.rate.most.rounded())),
                    $0.instructions.map { NumberText.grouped(Int($0.rounded())) } ?? "–",
                    $0.verdict.map { NumberText.ratio($0.ratio, target: $0.target) } ?? "–",
                ]
            })
        return Section(
            id: "reads", title: "In process", findings: [Findings.reads(report)],
            note: """
                Longer is better. Random ids, two lookups each: the record, then the chunk. The \
                first two open a view of the store for every read, the next two one for 256. The rest \
                is one connection that asks for one payload at a time through a socket.
                """,
            body: "<div class=\"panels wide\">\(panel.html)</div>\n\(table)"
        ).html
    }
}

/// blobd with one worker and with two.
struct WorkersSection {
    var report: Report

    var html: String {
        let groups = WorkersSummary.all(report)
        guard !groups.isEmpty else { return "" }
        let panels = groups.map { group in
            BarPanel(
                title: group.cell.label, unit: "answers a second",
                rows: group.rows.map {
                    BarPanel.Row(
                        label: $0.workers == 1 ? "1 worker" : "\($0.workers) workers",
                        spread: $0.rate, value: NumberText.short($0.rate.median),
                        paint: $0.workers == 1 ? "s-http" : "s-blobd")
                }
            ).html
        }
        let table = HTML.details(
            "All figures of workers",
            header: [
                "cell", "workers", "answers/s", "server's cores", "generator's cores",
                "answers per core-second of the server",
            ],
            rows: groups.flatMap { group in
                group.rows.map {
                    [
                        group.cell.label, "\($0.workers)",
                        NumberText.grouped(Int($0.rate.median.rounded())),
                        NumberText.fixed($0.serverCores.median, 2),
                        NumberText.fixed($0.generatorCores.median, 2),
                        NumberText.grouped(Int($0.ratePerCore.rounded())),
                    ]
                }
            })
        return Section(
            id: "workers", title: "Two workers against one",
            findings: groups.map(\.finding),
            note: """
                Here nothing is tied to a core: server and load share all of the machine's. With as \
                many workers as cores the load takes its part from the server's cores, so the gain \
                ends where both together fill the machine.
                """,
            body: "<div class=\"panels\">\(panels.joined())</div>\n\(table)"
        ).html
    }
}
