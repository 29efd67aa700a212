/// The few figures at the top of the page.
struct Tiles {
    var report: Report
    var cells: [CellSummary]
    var verdicts: [FetchVerdicts]

    var html: String {
        let tiles = [ahead, latency, publishes, reads].compactMap(\.self)
        guard !tiles.isEmpty else { return "" }
        var html = "<dl class=\"tiles\">\n"
        for (figure, words) in tiles {
            html += """
                <div><dt>\(HTML.text(words))</dt><dd>\(HTML.text(figure))</dd></div>

                """
        }
        return html + "</dl>"
    }

    private var ahead: (String, String)? {
        let all = verdicts.compactMap(\.peer)
        guard !all.isEmpty else { return nil }
        return (
            "\(all.count(where: \.isMet)) of \(all.count)",
            "cells in which blobd gives more answers than the fastest peer"
        )
    }

    private var latency: (String, String)? {
        let picture = Cell(byteCount: 128 << 10, load: Load(connections: 1, inFlight: 1))
        guard let cell = cells.first(where: { $0.cell == picture }), let own = cell[.blobd],
            let best = cell.those(.peer).min(by: { $0.p50.median < $1.p50.median })
        else { return nil }
        return (
            NumberText.time(microseconds: own.p50.median),
            """
            for a picture of 128 KiB, asked one at a time; \(best.server.label), the quickest peer, \
            takes \(NumberText.time(microseconds: best.p50.median))
            """
        )
    }

    private var publishes: (String, String)? {
        let all = PublishSummary.all(report.publishes.samples)
        guard let first = all.first?.cell.fileSystem,
            let cell = all.last(where: {
                $0.cell.fileSystem == first && $0.cell.byteCount == all[0].cell.byteCount
            }), let own = cell[.blobd], cell.ratio(.blobd) != nil
        else { return nil }
        return (
            "\(NumberText.short(own.rate.median))/s",
            """
            durable publishes of \(NumberText.bytes(cell.cell.byteCount)) by \
            \(cell.cell.publishersTitle) on \(first), \(cell.ratioText(.blobd)) redis
            """
        )
    }

    private var reads: (String, String)? {
        guard let own = ReadSummary.all(report).first(where: { $0.reader == .withPayload }),
            let verdict = own.verdict
        else { return nil }
        return (
            "\(NumberText.short(own.rate.median))/s",
            """
            reads in process, \(NumberText.ratio(verdict.ratio, target: verdict.target)) what C does
            """
        )
    }
}
