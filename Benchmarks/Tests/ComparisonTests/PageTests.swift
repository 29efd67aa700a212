import Comparison
import Testing

@Suite struct PageTests {
    private let html = Page(Example.report).html

    @Test func everyCellAndEveryServerIsThere() {
        for cell in CellSummary.all(Example.report.fetches) {
            for one in cell.servers {
                let row = "<th scope=\"row\">\(cell.cell.label)</th><td>\(one.server.label)</td>"
                #expect(html.contains(row), "\(row)")
            }
        }
        for title in [
            "Against the targets", "How soon", "Durable publishes", "In process", "Two workers",
        ] {
            #expect(html.contains(title), "\(title)")
        }
    }

    @Test func itAsksForNothingFromElsewhere() {
        for word in ["http://", "https://", "src=", "@import", "url(", "<script", "<link"] {
            #expect(!html.contains(word), "\(word)")
        }
    }

    @Test func whatTheMachineSaysIsText() {
        #expect(html.contains("Example &lt;1&gt;"))
        #expect(!html.contains("Example <1>"))
    }

    @Test func whatIsMissedIsMarked() {
        // blobd is 0.8 of C in each of four cells, and HTTP is 0.9 of the fastest peer in two.
        let missed = html.components(separatedBy: "aria-label=\"not met\"") - 1
        #expect(missed == 6)
        #expect(html.contains("14 of 18 targets") == false)
        #expect(html.contains("12 of 18 targets of fetches are met"))
    }

    @Test func aReportWithoutFiguresIsAPage() {
        var report = Example.report
        report.fetches = []
        report.publishes = PublishReport()
        report.reads = []
        report.workers = []
        let html = Page(report).html
        #expect(html.hasSuffix("</html>\n"))
        #expect(!html.contains("NaN"))
        #expect(!html.contains("Against the targets"))
    }

    @Test func tagsAreClosed() {
        for tag in ["section", "table", "tbody", "tr", "figure", "details", "svg", "div", "dl"] {
            let opened =
                (html.components(separatedBy: "<\(tag) ") - 1)
                + (html.components(separatedBy: "<\(tag)>") - 1)
            #expect(opened == html.components(separatedBy: "</\(tag)>") - 1, "\(tag)")
        }
    }
}

extension String {
    /// How many pieces `separator` cuts it into.
    fileprivate func components(separatedBy separator: String) -> Int {
        split(separator: separator, omittingEmptySubsequences: false).count
    }
}
