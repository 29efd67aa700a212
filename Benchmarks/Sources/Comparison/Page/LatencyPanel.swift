/// From the median to the 99th percentile, a line for each server, along a logarithmic scale.
struct LatencyPanel {
    var title: String
    var servers: [ServerSummary]

    var html: String {
        let times = servers.flatMap { [$0.p50.median, $0.p99.median] }
        guard let (scale, ticks) = LogScale.decimal(around: times) else { return "" }
        let grid = ticks.map {
            let place = HTML.percent(scale.share($0))
            return "<line class=\"grid\" x1=\"\(place)\" x2=\"\(place)\" y1=\"0\" y2=\"18\"/>"
        }.joined()
        var html = """
            <table class="panel times"><caption>\(HTML.text(title))</caption>
            \(HTML.columns)
            <thead class="unseen"><tr><th scope="col">Who</th><th scope="col">Chart</th>\
            <th scope="col">Half within / 99 of 100 within</th></tr></thead><tbody>

            """
        for one in servers {
            let (near, far) = (scale.share(one.p50.median), scale.share(one.p99.median))
            let paint = HTML.paint(one.server)
            let shapes = """
                \(grid)<line class="reach \(paint)" x1="\(HTML.percent(near))" \
                x2="\(HTML.percent(far))" y1="9" y2="9"/>\
                <circle class="half \(paint)" cx="\(HTML.percent(near))" cy="9" r="4"/>\
                <circle class="\(paint)" cx="\(HTML.percent(far))" cy="9" r="4.5"/>
                """
            html += """
                <tr class="\(paint)"><th scope="row">\(HTML.text(one.server.label))</th>\
                <td class="drawn inset">\(HTML.strip(height: 18, shapes))</td>\
                <td class="value">\(Self.pair(one))</td></tr>

                """
        }
        html += "<tr class=\"axis\" aria-hidden=\"true\"><td></td><td class=\"inset\"><div>"
        for tick in Self.written(ticks, scale) {
            html += """
                <span style="left:\(HTML.percent(scale.share(tick)))">\
                \(HTML.text(Self.tickText(tick)))</span>
                """
        }
        return html + "</div></td><td></td></tr></tbody></table>\n"
    }

    /// `41.3 / 70.2 µs`; with both units where they differ.
    private static func pair(_ one: ServerSummary) -> String {
        let near = NumberText.time(microseconds: one.p50.median)
        let far = NumberText.time(microseconds: one.p99.median)
        let parts = near.split(separator: " ")
        guard parts.count == 2, far.hasSuffix(" \(parts[1])") else {
            return "\(HTML.text(near)) / \(HTML.text(far))"
        }
        return HTML.text("\(parts[0]) / \(far)")
    }

    /// The first tick, the last, and those between that have room for their text.
    private static func written(_ ticks: [Double], _ scale: LogScale) -> [Double] {
        let room = 0.36
        var written: [Double] = []
        for (index, tick) in ticks.enumerated() {
            let place = scale.share(tick)
            let isFree =
                written.last.map { place - scale.share($0) >= room && 1 - place >= room } ?? true
            if isFree || index == ticks.count - 1 { written.append(tick) }
        }
        return written
    }

    private static func tickText(_ microseconds: Double) -> String {
        if microseconds > 9e5 { return "\(Int((microseconds / 1e6).rounded())) s" }
        if microseconds > 9e2 { return "\(Int((microseconds / 1e3).rounded())) ms" }
        if microseconds > 0.9 { return "\(Int(microseconds.rounded())) µs" }
        return "\(Int((microseconds * 1e3).rounded())) ns"
    }
}
