/// Bars beneath each other, each with its name before it and its value behind it: a table whose
/// middle column is drawn.
struct BarPanel {
    /// One bar.
    struct Row {
        var label: String
        var spread: Spread
        var value: String
        /// The class that colours it.
        var paint: String
    }

    var title: String
    /// What the values are, for those who hear the page.
    var unit: String
    var rows: [Row]

    var html: String {
        guard let most = rows.map(\.spread.most).max(), most > 0 else { return "" }
        var html = """
            <table class="panel"><caption>\(HTML.text(title))</caption>
            \(HTML.columns)
            <thead class="unseen"><tr><th scope="col">Who</th><th scope="col">Chart</th>\
            <th scope="col">\(HTML.text(unit))</th></tr></thead><tbody>

            """
        for row in rows {
            let spread = row.spread
            var shapes = """
                <rect class="\(row.paint)" x="0" y="3" height="12" rx="1.5" \
                width="\(HTML.percent(spread.median / most))"/>
                """
            if spread.most > spread.least {
                let (from, to) = (
                    HTML.percent(spread.least / most), HTML.percent(spread.most / most)
                )
                shapes += "<line class=\"whisker\" x1=\"\(from)\" x2=\"\(to)\" y1=\"9\" y2=\"9\"/>"
            }
            html += """
                <tr class="\(row.paint)"><th scope="row">\(HTML.text(row.label))</th>\
                <td class="drawn">\(HTML.strip(height: 18, shapes))</td>\
                <td class="value">\(HTML.text(row.value))</td></tr>

                """
        }
        return html + "</tbody></table>\n"
    }
}
