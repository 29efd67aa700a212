import Comparison
import FoundationEssentials
import Testing

@Suite struct PublishTests {
    private let groups = PublishGroup.all(Example.publishes.samples)

    @Test func fileSystemsAreApart() {
        #expect(groups.map(\.title) == ["ext4, ids replaced", "xfs, ids replaced"])
        #expect(groups[0].cells.map(\.cell.label) == ["1 KiB × 1", "1 KiB × 64"])
        #expect(groups[1].cells.map(\.cell.label) == ["128 KiB × 64"])
    }

    @Test func turnoversAreApart() {
        var samples = Example.publishes.samples
        let replaced = samples.count
        samples += samples.map {
            var sample = $0
            sample.cell.turnover = .expiring
            return sample
        }
        let groups = PublishGroup.all(samples)
        #expect(groups.map(\.turnover) == [.replaced, .replaced, .expiring, .expiring])
        #expect(PublishSummary.all(samples).count == 2 * replaced / 9)
    }

    /// The machine is three times slower in the last round than in the first: the ratios of rates in
    /// the same round say what the ratio of medians does not.
    @Test func ratiosAreThoseOfRounds() throws {
        let cell = groups[0].cells[1]
        let ratio = try #require(cell.ratio(.blobd))
        #expect(ratio.value == 1.5)
        #expect(ratio.least == 1)
        #expect(ratio.most == 2)
        #expect(cell[.blobd]?.rate.median == 2_000)
        #expect(cell.isAhead(.blobd) == true)
        #expect(groups[0].cells[0].isAhead(.blobd) == false)
        #expect(cell.ratio(.redis) == nil)
    }

    /// A round in which only one was measured is no ratio.
    @Test func roundsThatLackOneAreLeftOut() throws {
        let samples = [
            Example.publish(.blobd, 1, publishers: 1, round: 0, rate: 10),
            Example.publish(.blobd, 1, publishers: 1, round: 1, rate: 30),
            Example.publish(.redis, 1, publishers: 1, round: 1, rate: 10),
        ]
        let cell = try #require(PublishSummary.all(samples).first)
        #expect(cell.ratio(.blobd)?.value == 3)
        #expect(cell.ratio(.blobd)?.most == 3)
        let alone = try #require(PublishSummary.all(Array(samples.prefix(2))).first)
        #expect(alone.ratio(.blobd) == nil)
        #expect(alone.isAhead(.blobd) == nil)
    }

    @Test func verdictsNameEveryCell() {
        #expect(
            groups[0].verdict(.blobd) == """
                ext4, ids replaced: blobd is ahead of redis in 1 of 2 cells: 1 KiB × 64 1.50 × \
                (1.00–2.00); behind: 1 KiB × 1 0.50 × (0.50–0.50).
                """)
        #expect(
            groups[1].verdict(.blobdHTTP) == """
                xfs, ids replaced: blobd HTTP is ahead of redis in the one cell: 128 KiB × 64 1.13 × \
                (0.75–1.50).
                """)
        #expect(groups[0].verdict(.redis) == nil)
    }

    /// Twice the time is a ratio of a half: less is worse, as with rates.
    @Test func timesAreTurnedRound() throws {
        var samples = [Server.blobd, .redis].map {
            Example.publish($0, 1, publishers: 1, round: 0, rate: 10)
        }
        samples[0].userMicroseconds = 20
        samples[0].kernelMicroseconds = 20
        samples[1].userMicroseconds = 15
        samples[1].kernelMicroseconds = 5
        let cell = try #require(PublishSummary.all(samples).first)
        #expect(cell.timeRatio(.blobd)?.value == 0.5)
        samples[1].kernelMicroseconds = nil
        #expect(PublishSummary.all(samples).first?.timeRatio(.blobd) == nil)
    }

    /// A round in which redis rewrites its log counts as much as it published: 30 publishes for 10 µs
    /// and 10 for 50 µs are 20 µs each, and so are their bytes.
    @Test func costsAreOfAllRounds() throws {
        var samples = [(30.0, 10.0), (10, 50)].enumerated().map { round, figures in
            var sample = Example.publish(
                .redis, 1, publishers: 1, round: round, rate: figures.0, bytesWritten: figures.1)
            sample.userMicroseconds = figures.1
            sample.kernelMicroseconds = 0
            return sample
        }
        samples += [0, 1].map {
            Example.publish(.blobd, 1, publishers: 1, round: $0, rate: 10, bytesWritten: nil)
        }
        for index in [2, 3] {
            samples[index].userMicroseconds = 5
            samples[index].kernelMicroseconds = 5
        }
        let cell = try #require(PublishSummary.all(samples).first)
        #expect(cell[.redis]?.user == 20)
        #expect(cell[.redis]?.bytesWritten == 20)
        #expect(cell[.blobd]?.bytesWritten == nil)
        let ratio = try #require(cell.timeRatio(.blobd))
        #expect(ratio.value == 2)
        #expect(ratio.least == 1)
        #expect(ratio.most == 5)
    }

    @Test func costsAreThereWhereTheyAreKnown() {
        #expect(groups[0].cells[0][.redis]?.bytesWritten == 2.5)
        #expect(groups[1].cells[0][.redis]?.bytesWritten == nil)
        #expect(abs((groups[1].cells[0][.redis]?.user ?? 0) - 12.34) < 1e-9)
    }

    @Test func tablesAndPageSayHowItWasMeasured() {
        let text = Markdown(Example.report).text
        let page = Page(Example.report).html
        for words in [
            "ids replaced: a fixed set (16,384 of 1 KiB)", "3 alternating rounds of 2.0 s",
            "xfs: in a file, a sync of 4 KiB takes 82.0 µs",
        ] {
            #expect(text.contains(words), "\(words)")
        }
        #expect(text.contains("Left out: btrfs: only <ext4> and xfs."))
        #expect(page.contains("Left out: btrfs: only &lt;ext4&gt; and xfs."))
        #expect(page.contains("xfs, ids replaced: processor time a publish"))
        #expect(page.contains("redis --durable"))
        // Bytes written are known on ext4 alone.
        #expect(page.split(separator: "Not known here.").count == 2)
    }

    /// A page of publishes alone does not say how fetches were measured.
    @Test func publishesStandAlone() {
        var report = Example.report
        report.fetches = []
        report.reads = []
        report.workers = []
        report.servers = []
        let page = Page(report).html
        #expect(!page.contains("alternating samples"))
        #expect(!page.contains("drawn at random"))
        #expect(page.contains("for blobd and redis, on the same machine"))
        #expect(!Markdown(report).text.contains("alternating samples"))
    }

    @Test func aReportIsReadAgain() throws {
        let data = try JSONEncoder().encode(Example.report)
        let report = try JSONDecoder().decode(Report.self, from: data)
        #expect(report.publishes.samples.count == Example.publishes.samples.count)
        #expect(Markdown(report).text == Markdown(Example.report).text)
    }
}
