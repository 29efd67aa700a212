/// Pieces of the page. Texts are escaped where they become HTML, and only there.
enum HTML {
    /// Text between tags or in a quoted attribute.
    static func text(_ text: some StringProtocol) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    /// Sentences, in which figures stay on a line with their units.
    static func prose(_ sentences: String) -> String {
        var words = text(sentences)
        for mark in [" ×", " KiB", " MiB", " M ", " k ", " GB", " µs", " ms"] {
            words = words.replacing(mark, with: "\u{A0}\(mark.dropFirst())")
        }
        return words.replacing("× 1", with: "×\u{A0}1")
    }

    /// A place along a chart's width.
    static func percent(_ share: Double) -> String {
        "\(NumberText.fixed(min(max(share, 0), 1) * 100, 2))%"
    }

    /// A drawing that is as wide as the room it has, and does not scale: its lengths along are
    /// percentages, so that texts beside it keep their size on a phone.
    static func strip(height: Int, _ shapes: String) -> String {
        """
        <svg class="strip" width="100%" height="\(height)" aria-hidden="true" focusable="false">\
        \(shapes)</svg>
        """
    }

    /// The widths of a panel's columns: name, drawing, value.
    static let columns = "<colgroup><col class=\"name\"><col><col class=\"figure\"></colgroup>"

    /// The class that gives a server its colour.
    static func paint(_ server: Server) -> String {
        switch server {
        case .blobd: "s-blobd"
        case .blobdHTTP: "s-http"
        case .memcached, .redis, .nginx, .varnish: "s-peer"
        case .baselineWritev, .baselineSendfile: "s-c"
        }
    }

    /// A table for those who want the figures.
    static func details(_ title: String, header: [String], rows: [[String]]) -> String {
        var html = "<details><summary>\(text(title))</summary><div class=\"scroll\" tabindex=\"0\">"
        html += "<table class=\"figures\"><thead><tr>"
        for column in header { html += "<th scope=\"col\">\(text(column))</th>" }
        html += "</tr></thead><tbody>\n"
        for row in rows {
            html += "<tr>"
            for (index, cell) in row.enumerated() {
                html +=
                    index == 0 ? "<th scope=\"row\">\(text(cell))</th>" : "<td>\(text(cell))</td>"
            }
            html += "</tr>\n"
        }
        return html + "</tbody></table></div></details>\n"
    }
}
