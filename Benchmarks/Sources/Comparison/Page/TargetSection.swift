/// Each target in each cell: met, or how far from it.
struct TargetSection {
    var report: Report
    var verdicts: [FetchVerdicts]

    var html: String {
        let all = verdicts.flatMap(\.all)
        let met = all.count(where: \.isMet)
        let finding =
            met == all.count
            ? "All \(met) targets of fetches are met."
            : "\(met) of \(all.count) targets of fetches are met; the others say how far off they are."
        var body = """
            <div class="scroll" tabindex="0"><table class="figures targets">
            <thead><tr><th scope="col">cell</th>\
            <th scope="col">blobd / fastest peer<br><small>≥ 1</small></th>\
            <th scope="col">blobd / C<br><small>≥ 0.9</small></th>\
            <th scope="col">HTTP / nginx<br><small>≥ 1</small></th>\
            <th scope="col">HTTP / fastest peer<br><small>≥ 1 from 16 KiB</small></th>\
            <th scope="col">best peer’s p99 / blobd’s<br><small>≥ 1</small></th></tr></thead><tbody>

            """
        for row in verdicts {
            body += "<tr><th scope=\"row\">\(HTML.text(row.cell.label))</th>"
            for verdict in [row.peer, row.baseline, row.nginx, row.httpPeer, row.latency] {
                body += Self.cell(verdict)
            }
            body += "</tr>\n"
        }
        body += "</tbody></table></div>\n"
        return Section(
            id: "targets", title: "Against the targets", findings: [finding], note: "", body: body
        ).html
    }

    static func cell(_ verdict: Verdict?) -> String {
        guard let verdict else { return "<td>–</td>" }
        let ratio = NumberText.ratio(verdict.ratio, target: verdict.target)
        let mark =
            verdict.isMet
            ? "<span class=\"met\" aria-label=\"met\">✓</span>"
            : "<span class=\"unmet\" aria-label=\"not met\">✗</span>"
        return """
            <td>\(mark) \(HTML.text(ratio.dropLast(2)))<small>\(HTML.text(verdict.other))</small></td>
            """
    }
}
