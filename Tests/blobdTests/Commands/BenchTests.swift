import Foundation
import LoadGenerator
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// `blobd bench` as a user runs it, against a daemon.
@Suite(.waiting) struct BenchTests {
    /// Runs `bench --json` with these arguments, and reads what it printed. Runs it for longer if too little was done.
    private func figures(
        _ daemon: DaemonProcess, _ arguments: [String],
        isEnough: (LoadFigures) -> Bool = { $0.requests > 0 }
    ) throws -> [LoadFigures] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        var figures: [LoadFigures] = []
        for seconds in ["0.2", "2", "20"] {
            let short = ["bench", "--seconds", seconds, "--warm-up", "0", "--json"]
            let result = try blobd(short + arguments, socket: daemon.socketPath)
            // On a busy machine nothing may be answered in so short a time.
            if result.status != 0 && seconds != "20" { continue }
            #expect(result.status == 0, "\(result.errors)")
            figures = try result.text.split(separator: "\n").map {
                try decoder.decode(LoadFigures.self, from: Data($0.utf8))
            }
            if figures.allSatisfy(isEnough) { break }
        }
        return figures
    }

    @Test("Each dialect and size gives figures that agree with themselves")
    func runs() throws {
        let daemon = try DaemonProcess()
        let all = try figures(
            daemon,
            [
                "--size", "1000,70000", "--dialect", "binary,http", "--connections", "3",
                "--pipeline", "4", "--seed", "9",
            ])
        #expect(
            all.map { "\($0.dialect) \($0.payload)" }
                == ["binary 1000", "binary 70000", "http 1000", "http 70000"])
        for figures in all {
            #expect(figures.requests > 0 && figures.fetches?.requests == figures.requests)
            #expect(figures.publishes == nil && figures.rate == nil && figures.check == .all)
            #expect(figures.connections == 3 && figures.depth == 4 && figures.seed == 9)
            let latency = figures.latency
            let rising = [
                0, latency.minMicroseconds, latency.p50Microseconds, latency.p90Microseconds,
                latency.p99Microseconds, latency.p999Microseconds, latency.p9999Microseconds,
                latency.maxMicroseconds,
            ]
            #expect(rising == rising.sorted() && latency.maxMicroseconds > 0)
            let rate = Double(figures.requests) / figures.seconds
            #expect(abs(figures.requestsPerSecond / rate - 1) < 1e-9)
            #expect(figures.server?.processes.count == 1)
            #expect(figures.generator.cpuSeconds > 0)
        }
    }

    @Test("A mix of reads and publishes counts both, and nothing of it is left")
    func mixed() throws {
        let daemon = try DaemonProcess()
        let all = try figures(daemon, ["--size", "2KiB", "--reads", "50", "--connections", "4"]) {
            $0.fetches != nil && $0.publishes != nil
        }
        let figures = try #require(all.first)
        let fetches = try #require(figures.fetches)
        let publishes = try #require(figures.publishes)
        #expect(fetches.requests + publishes.requests == figures.requests)
        #expect(try daemon.run("ls", "--json").text.isEmpty)
    }

    @Test("A publishing run stores nothing to fetch, and every size of a mix is taken")
    func publishing() throws {
        let daemon = try DaemonProcess()
        let all = try figures(daemon, ["--publish", "--size", "mix", "--connections", "2"])
        #expect(all.first?.fetches == nil && all.first?.publishes?.requests ?? 0 > 0)
        #expect(try daemon.run("stat", "bench-mix-1-0").status == 3)
    }

    @Test("Pairs fetch what they published, and every watcher learns of every publish")
    func pairsAndEvents() throws {
        let daemon = try DaemonProcess()
        let payloads = try LoadPayloads(.fixed(2_000), count: 16, seed: 9)
        func figures(
            _ dialect: any LoadDialect, _ change: (inout LoadOptions) -> Void
        ) throws -> LoadFigures {
            var options = LoadOptions(socketPath: daemon.socketPath)
            options.warmUpSeconds = 0
            change(&options)
            // On a busy machine nothing may be answered in so short a time.
            for seconds in [0.2, 2] {
                options.seconds = seconds
                let figures = try? LoadRun(dialect, payloads, options).measure()
                if let figures, figures.fetches != nil || figures.events != nil { return figures }
            }
            options.seconds = 20
            return try LoadRun(dialect, payloads, options).measure()
        }
        for dialect in [BinaryDialect(), HTTPDialect()] as [any LoadDialect] {
            let pairs = try figures(dialect) {
                $0.pairs = true
                $0.hasOwners = true
                $0.connections = 3
            }
            let published = pairs.publishes?.requests ?? 0
            let fetched = pairs.fetches?.requests ?? 0
            #expect(fetched > 0, "\(dialect.name)")
            #expect((0...3).contains(published - fetched), "\(published), \(fetched)")
            let told = try figures(dialect) { $0.watchers = 3 }
            let (publishes, events) = (told.publishes?.requests ?? 0, told.events?.requests ?? 0)
            // At most one publish was not answered, or not all were told of it.
            #expect(events > 0 && abs(events - 3 * publishes) <= 3, "\(publishes), \(events)")
        }
        let list = try daemon.run("ls", "--json").text
        #expect(list.contains(#""owner":"bench-user-1""#) && list.contains("push-"))
    }

    @Test("A fixed rate is never exceeded, and says whether it was reached")
    func rate() throws {
        let daemon = try DaemonProcess()
        // Requests that were due before the counting began may be counted, on a busy machine those of more than a second.
        // Without a rate there would be thousands each time.
        var all: [LoadFigures] = []
        try daemon.wait(for: "the rate is exceeded") {
            all = try self.figures($0, ["--rate", "300", "--connections", "2"])
            return all.allSatisfy { Double($0.requests) <= 300 * ($0.seconds + 1) }
        }
        let figures = try #require(all.first)
        let rate = try #require(figures.rate)
        #expect(rate.askedPerSecond == 300)
        #expect(rate.isReached == (Double(figures.requests + 1) >= 297 * figures.seconds))
        // On a busy machine nothing may be answered in so short a time.
        try daemon.wait(for: "a hopeless rate is reached") {
            try $0.run("bench", "--rate", "40000000", "--seconds", "0.1", "--warm-up", "0").text
                .contains("the rate was not reached")
        }
    }

    @Test(
        "A latency has at most five characters",
        arguments: [
            (0, "0.00"), (4.2149, "4.21"), (1_204.4, "1204"), (99_999.4, "99999"),
            (99_999.6, "100ms"), (123_456, "123ms"), (999_600, "1.00s"), (12_345_678, "12.3s"),
            (.infinity, "?"),
        ] as [(Double, String)])
    func latencies(value: Double, text: String) {
        #expect(BenchReport.time(value) == text)
    }

    @Test(
        "Numbers have three digits",
        arguments: [
            (0, "0.00"), (4.2149, "4.21"), (9.996, "10.0"), (38.46, "38.5"), (99.96, "100"),
            (1_204.4, "1,204"), (.infinity, "?"),
        ] as [(Double, String)])
    func numbers(value: Double, text: String) {
        #expect(BenchReport.number(value) == text)
    }
}
