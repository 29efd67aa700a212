/// Every cell on one scale: how many answers each server gave for each one of the fastest peer's.
struct OverviewChart {
    var cells: [CellSummary]

    private static let height = 26

    var html: String {
        let ratios = cells.flatMap { cell in
            cell.servers.compactMap { cell.ratio($0.server, to: cell.fastestPeer) }
        }
        // A peer that is far behind would take the room of those that matter: it stands at the edge.
        let shown = ratios.filter { $0 >= 0.25 } + [0.5, 1, 2]
        guard !ratios.isEmpty, let scale = LogScale(around: shown, base: 2) else { return "" }
        let ticks = scale.ticks(base: 2)
        var html = """
            <table class="panel overview"><caption class="unseen">Answers a second over those of \
            the fastest peer</caption>
            <colgroup><col class="name"><col><col class="figure"><col class="figure"></colgroup>
            <thead><tr><th scope="col"><span class="unseen">Cell</span></th>\
            <th scope="col"><span class="unseen">Chart</span></th>\
            <th scope="col">binary</th><th scope="col">HTTP</th></tr></thead>

            """
        var byteCount: Int?
        for cell in cells {
            if cell.cell.byteCount != byteCount {
                if byteCount != nil { html += "</tbody>" }
                byteCount = cell.cell.byteCount
                html += """
                    <tbody><tr class="group"><th colspan="4" scope="rowgroup">\
                    \(HTML.text(NumberText.bytes(cell.cell.byteCount)))</th></tr>

                    """
            }
            html += row(cell, scale, ticks)
        }
        html += "</tbody><tfoot aria-hidden=\"true\"><tr class=\"axis\"><td></td>"
        html += "<td class=\"inset\"><div>"
        for tick in ticks {
            html += """
                <span style="left:\(HTML.percent(scale.share(tick)))">\
                \(HTML.text(Self.tickText(tick)))</span>
                """
        }
        return html + "</div></td><td></td><td></td></tr></tfoot></table>\n"
    }

    private func row(_ cell: CellSummary, _ scale: LogScale, _ ticks: [Double]) -> String {
        let (height, middle) = (Self.height, Self.height / 2)
        var shapes = ""
        for tick in ticks {
            let place = HTML.percent(scale.share(tick))
            let kind = tick > 0.99 && tick < 1.01 ? "one" : "grid"
            shapes += """
                <line class="\(kind)" x1="\(place)" x2="\(place)" y1="0" y2="\(height)"/>
                """
        }
        func place(_ server: Server) -> String? {
            cell.ratio(server, to: cell.fastestPeer).map { HTML.percent(scale.share($0)) }
        }
        for server in Server.those(.peer) {
            guard let place = place(server) else { continue }
            shapes += "<circle class=\"s-peer\" cx=\"\(place)\" cy=\"\(middle)\" r=\"3.5\"/>"
        }
        if let baseline = cell.fastestBaseline, let place = place(baseline.server) {
            shapes += """
                <line class="c-mark" x1="\(place)" x2="\(place)" y1="3" y2="\(height - 3)"/>
                """
        }
        for (server, radius) in [(Server.blobdHTTP, 5.5), (.blobd, 6.5)] {
            guard let place = place(server) else { continue }
            shapes += """
                <circle class="\(HTML.paint(server)) ring" cx="\(place)" cy="\(middle)" \
                r="\(radius)"/>
                """
        }
        return """
            <tr><th scope="row">\(HTML.text(cell.cell.load.label))</th>\
            <td class="drawn inset">\(HTML.strip(height: height, shapes))</td>\
            <td class="value s-blobd">\(HTML.text(Self.text(cell, .blobd)))</td>\
            <td class="value s-http">\(HTML.text(Self.text(cell, .blobdHTTP)))</td></tr>

            """
    }

    private static func text(_ cell: CellSummary, _ server: Server) -> String {
        cell.ratio(server, to: cell.fastestPeer).map { NumberText.ratio($0) } ?? "–"
    }

    private static func tickText(_ tick: Double) -> String {
        if tick >= 0.99 { return "\(Int(tick.rounded())) ×" }
        switch Int((1 / tick).rounded()) {
        case 2: return "½"
        case 4: return "¼"
        case 8: return "⅛"
        case let parts: return "1/\(parts)"
        }
    }
}
