import Comparison
import Testing

@Suite struct MarkdownTests {
    @Test func tablesHaveEveryCell() {
        let lines = Markdown(Example.report).text.split(separator: "\n")
        #expect(
            lines.contains(
                "| 1 KiB | 16 × 16 | **1.20 k** | 900 | 1.00 k | 800 | 600 | 300 | 1.25 k | 1.50 k |"
            ))
        #expect(
            lines.contains(
                """
                | 128 KiB | 1 × 1 | ✓ 1.20 × (memcached) | ✗ 0.80 × (C sendfile) | \
                ✓ 1.50 × (nginx) | ✗ 0.90 × (memcached) | ✓ 1.20 × (memcached) |
                """))
        #expect(
            lines.contains(
                """
                | 1 KiB | 64 | 2.00 k | 1.50 k | 1.00 k | ✓ 1.50 × (1.00–2.00) | \
                ✓ 1.13 × (0.75–1.50) |
                """))
        #expect(
            lines.contains(
                """
                | 1 KiB | 1 | 12.3 + 123 µs | 12.3 + 123 µs | 12.3 + 123 µs | \
                1.00 × (1.00–1.00) | 1.00 × (1.00–1.00) |
                """))
        #expect(lines.contains("| 1 KiB | 1 | 2.50 | 2.50 | 2.50 |"))
        #expect(lines.contains("| 128 KiB | 64 | – | – | – |"))
        #expect(lines.contains("| withPayload | 3.00 M | 1,234 | ✗ 0.75 × (C) |"))
    }

    /// A row with another number of cells than its header would break the table.
    @Test func rowsAreAsWideAsTheirHeaders() {
        var width: Int?
        for line in Markdown(Example.report).text.split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            guard line.hasPrefix("|") else {
                width = nil
                continue
            }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).count
            #expect(cells == width ?? cells, "\(line)")
            width = cells
        }
    }
}
