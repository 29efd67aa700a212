import Comparison
import Testing

@Suite struct SummaryTests {
    @Test func cellsAreSummedUpByMedian() throws {
        let cells = CellSummary.all(Example.fetches())
        #expect(
            cells.map(\.cell.label) == [
                "1 KiB, 1 × 1", "1 KiB, 16 × 16", "128 KiB, 1 × 1", "128 KiB, 16 × 16",
            ])
        let redis = try #require(cells[0][.redis])
        #expect(redis.rate.median == 800)
        #expect(redis.rate.least == 400)
        #expect(redis.rate.most == 1_200)
        #expect(cells[0].fastestPeer?.server == .memcached)
        #expect(cells[0].fastestBaseline?.server == .baselineSendfile)
        #expect(cells[0].ratio(.blobd, to: cells[0][.nginx]) == 2)
    }

    @Test func cellsAreInOrderWhateverTheTurnsWere() {
        let cells = CellSummary.all(Example.fetches().reversed())
        #expect(cells.map(\.cell.byteCount) == [1 << 10, 1 << 10, 128 << 10, 128 << 10])
        #expect(cells.map(\.cell.load.inFlight) == [1, 16, 1, 16])
    }

    @Test func targetsAreMetOrNot() throws {
        let verdicts = CellSummary.all(Example.fetches()).map(FetchVerdicts.init)
        let peer = try #require(verdicts[0].peer)
        #expect(peer.ratio == 1.2)
        #expect(peer.isMet)
        #expect(peer.other == "memcached")
        let baseline = try #require(verdicts[0].baseline)
        #expect(baseline.ratio == 0.8)
        #expect(!baseline.isMet)
        #expect(verdicts[0].nginx?.ratio == 1.5)
        // HTTP is held against every peer from 16 KiB up.
        #expect(verdicts[0].httpPeer == nil)
        #expect(verdicts[2].httpPeer?.isMet == false)
        #expect(verdicts[2].httpPeer?.ratio == 0.9)
    }

    /// A latency that is twice the best peer's is a ratio of a half: less is worse, as with rates.
    @Test func latenciesAreTurnedRound() throws {
        let cell = Cell(byteCount: 1, load: Load(connections: 1, inFlight: 1))
        let samples = [
            Example.sample(.blobd, cell, number: 0, rate: 10, p99: 120_000),
            Example.sample(.redis, cell, number: 0, rate: 10, p99: 60_000),
            Example.sample(.nginx, cell, number: 0, rate: 10, p99: 90_000),
        ]
        let summary = try #require(CellSummary.all(samples).first)
        let latency = try #require(FetchVerdicts(summary).latency)
        #expect(latency.ratio == 0.5)
        #expect(latency.other == "redis")
        #expect(!latency.isMet)
    }

    /// A server that answers a few and lets the others wait has short latencies of those it answers.
    @Test func whoStarvesTheOthersIsNotQuick() throws {
        let cell = Cell(byteCount: 1, load: Load(connections: 16, inFlight: 16))
        let samples = [
            Example.sample(.blobd, cell, number: 0, rate: 1_000),
            Example.sample(.nginx, cell, number: 0, rate: 1_000, p99: 300_000),
            Example.sample(.varnish, cell, number: 0, rate: 1_000, p99: 300),
        ]
        let summary = try #require(CellSummary.all(samples).first)
        #expect(summary.quickestPeer?.server == .nginx)
        #expect(summary.those(.peer).filter(summary.isStarving).map(\.server) == [.varnish])
    }

    @Test func withoutPeersThereIsNoVerdict() throws {
        let cells = CellSummary.all(Example.fetches(rates: [.blobd: 5]))
        let summary = try #require(cells.first)
        #expect(summary.fastestPeer == nil)
        #expect(FetchVerdicts(summary).all.isEmpty)
    }

    @Test func readsAreHeldAgainstTheirC() throws {
        let reads = ReadSummary.all(Example.report)
        #expect(reads.map(\.reader) == [.c, .withPayload])
        #expect(reads[0].verdict == nil)
        let verdict = try #require(reads[1].verdict)
        #expect(verdict.ratio == 0.75)
        #expect(!verdict.isMet)
        #expect(reads[1].instructions == 1_234)
    }

    /// One worker takes a core, the load half of one: two cores allow 4/3 of it.
    @Test func whatTheMachineAllowsIsKnown() throws {
        let workers = try #require(WorkersSummary.all(Example.report).first)
        #expect(workers.gain == 2)
        let possible = try #require(workers.gainPossible)
        #expect(abs(possible - 4.0 / 3) < 1e-9)
    }
}
