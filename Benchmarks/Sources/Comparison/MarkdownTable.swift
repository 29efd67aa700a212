/// A table as Markdown.
struct MarkdownTable {
    let header: [String]
    /// The cells of each row, none of which has a `|`.
    let rows: [[String]]

    init(_ header: [String], rows: [[String]]) {
        self.header = header
        self.rows = rows
    }

    var text: String {
        var text = "| \(header.joined(separator: " | ")) |\n"
        text += "|\(header.map { _ in "---|" }.joined())\n"
        for row in rows { text += "| \(row.joined(separator: " | ")) |\n" }
        return text
    }
}
