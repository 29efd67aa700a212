import BlobClient
import Foundation
import LoadGenerator
import Testing

/// `Benchmarks/load` as a user runs it, against a daemon.
@Suite(
    .enabled(if: Daemon.isThere, "there is no blobd: swift build, or BLOBD"), .serialized)
struct LoadTests {
    /// Runs with these arguments, and reads what was printed as JSON. Runs for longer if too little was done.
    private func figures(
        _ daemon: Daemon, _ arguments: [String],
        isEnough: (LoadFigures) -> Bool = { $0.requests > 0 }
    ) throws -> [LoadFigures] {
        let outcome = try daemon.runShortly(arguments + ["--json"]) {
            try Self.figures(in: $0.text).allSatisfy(isEnough)
        }
        #expect(outcome.status == 0, "\(outcome.errors)")
        return try Self.figures(in: outcome.text)
    }

    private static func figures(in text: String) throws -> [LoadFigures] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try text.split(separator: "\n").map {
            try decoder.decode(LoadFigures.self, from: Data($0.utf8))
        }
    }

    @Test("Each dialect and size gives figures that agree with themselves")
    func runs() throws {
        let daemon = try Daemon()
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
        let daemon = try Daemon()
        let all = try figures(daemon, ["--size", "2KiB", "--reads", "50", "--connections", "4"]) {
            $0.fetches != nil && $0.publishes != nil
        }
        let figures = try #require(all.first)
        let fetches = try #require(figures.fetches)
        let publishes = try #require(figures.publishes)
        #expect(fetches.requests + publishes.requests == figures.requests)
        #expect(try daemon.ids() == [])
    }

    @Test("A publishing run stores nothing to fetch, and every size of a mix is taken")
    func publishing() throws {
        let daemon = try Daemon()
        let all = try figures(daemon, ["--publish", "--size", "mix", "--connections", "2"])
        #expect(all.first?.fetches == nil && all.first?.publishes?.requests ?? 0 > 0)
        #expect(try daemon.ids() == [])
    }

    @Test("Pairs fetch what they published, and every watcher learns of every publish")
    func pairsAndEvents() throws {
        let daemon = try Daemon()
        let payloads = try LoadPayloads(.fixed(2_000), count: 16, seed: 9)
        func figures(
            _ dialect: any LoadDialect, _ change: (inout LoadOptions) -> Void
        ) throws -> LoadFigures {
            var options = LoadOptions(socketPath: daemon.socket)
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
        #expect(try daemon.ids().contains { $0.hasPrefix("push-") })
    }

    @Test("A fixed rate is never exceeded, and says whether it was reached")
    func rate() throws {
        let daemon = try Daemon()
        // Requests that were due before the counting began may be counted, on a busy machine those of more than a second.
        // Without a rate there would be thousands each time.
        let all = try self.figures(daemon, ["--rate", "300", "--connections", "2"]) {
            (1...300 * ($0.seconds + 1)).contains(Double($0.requests))
        }
        let figures = try #require(all.first)
        #expect(Double(figures.requests) <= 300 * (figures.seconds + 1))
        let rate = try #require(figures.rate)
        #expect(rate.askedPerSecond == 300)
        #expect(rate.isReached == (Double(figures.requests + 1) >= 297 * figures.seconds))
        let hopeless = try daemon.runShortly(["--rate", "40000000"]) { _ in true }
        #expect(hopeless.text.contains("the rate was not reached"))
    }

    @Test("Two tables of at most 80 columns", arguments: ["100", "30"])
    func tables(reads: String) throws {
        let daemon = try Daemon()
        let outcome = try daemon.runShortly(["--reads", reads]) {
            reads == "100" || $0.text.contains("· publish")
        }
        let lines = outcome.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0].hasPrefix("dialect "))
        #expect(lines.filter { $0.hasPrefix("latency, µs") }.count == 1)
        #expect(outcome.text.contains("· publish") == (reads != "100"))
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    @Test("Nothing is left, also after an interruption", arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) throws {
        let daemon = try Daemon()
        let run = try daemon.start(["--seconds", "600", "--reads", "50"])
        try daemon.wait("nothing is published") {
            var connection = try BlobConnection.connect(to: daemon.socket)
            return (try? connection.call(.stat("bench-publish-1024-1-0"))) != nil
        }
        kill(run.process.processIdentifier, signal)
        let outcome = try run.end()
        #expect(outcome.status == 128 + signal)
        #expect(outcome.errors == "load: interrupted; no figures\n")
        #expect(try outcome.text == "" && daemon.ids() == [])
    }

    @Test("What is to be fetched again stays")
    func kept() throws {
        let daemon = try Daemon()
        for option in ["--keep", "--stored"] {
            let outcome = try daemon.runShortly([option]) { _ in true }
            #expect(try outcome.status == 0 && daemon.ids().count == 1_000, "\(option)")
        }
    }

    @Test("One wrong byte, and there is no figure")
    func wrongByte() throws {
        let daemon = try Daemon()
        let run = try daemon.start(["--size", "64KiB", "--seconds", "60"])
        var connection = try BlobConnection.connect(to: daemon.socket)
        let zeros = [UInt8](repeating: 0, count: 65_536)
        while run.process.isRunning {
            _ = try connection.put(PutRequest(id: "bench-65536-1-0"), zeros.span.bytes)
        }
        let outcome = try run.end()
        #expect(outcome.status == 1 && outcome.text == "")
        #expect(outcome.errors.contains("no figures"))
    }

    @Test(
        "Mistakes are named",
        arguments: [
            ("--connections 0", "connections is 0; it must be 1 to 8192"),
            ("--pipeline 2000", "requests in flight is 2000; it must be 1 to 1024"),
            ("--reads 101", "percent of reads is 101; it must be 0 to 100"),
            ("--reads 50 --publish", "--publish means --reads 0"),
            ("--rate 0", "requests per second is 0.0; it must be 1.0 to "),
            ("--seconds nan", "seconds is nan; "), ("--warm-up 1e9", "warm-up is 1000000000.0; "),
            ("--cpu 1024", "core is 1024; "), ("--cpu 1023", "core 1023 "), ("--size 0", "--size"),
            ("--size 1,,2", "--size"), ("--size 65MiB", "--size"), ("--dialect smtp", "--dialect"),
            ("--dialect binary,binary", "--dialect"), ("--check some", "--check"),
            ("--socket=", "Missing value for '--socket"), ("--timeout=-1", "--timeout is -1; "),
        ])
    func mistakes(arguments: String, problem: String) throws {
        let daemon = try Daemon()
        let outcome = try daemon.start(arguments.split(separator: " ").map(String.init)).end()
        #expect(outcome.status == 2 && outcome.text == "")
        #expect(outcome.errors.hasPrefix("load: ") && outcome.errors.contains(problem))
        #expect(try daemon.ids() == [])
    }

    @Test("Without a daemon it says so")
    func noDaemon() throws {
        let outcome = try Daemon().run("--socket", "/nonexistent/s")
        #expect(outcome.status == 4 && outcome.errors.hasPrefix("load: "))
    }
}
