import Comparison

/// A report made up for tests, in which every ratio is known.
enum Example {
    static let sizes = [1 << 10, 128 << 10]
    static let loads = [
        Load(connections: 1, inFlight: 1), Load(connections: 16, inFlight: 16),
    ]

    /// Answers a second of each server in every cell.
    static let rates: [Server: Double] = [
        .blobd: 1_200, .blobdHTTP: 900, .memcached: 1_000, .redis: 800, .nginx: 600,
        .varnish: 300, .baselineWritev: 1_250, .baselineSendfile: 1_500,
    ]

    static func sample(
        _ server: Server, _ cell: Cell, number: Int, rate: Double, p99: Double? = nil
    ) -> Sample {
        // As long as all that is in flight takes at that rate.
        let inFlight = Double(cell.load.connections * cell.load.inFlight)
        let p99 = p99 ?? 1e6 * inFlight / rate
        return Sample(
            server: server, cell: cell, number: number, requestsPerSecond: rate,
            p50Microseconds: 40, p99Microseconds: p99, serverMicroseconds: 1e6 / rate,
            generatorShare: 0.5)
    }

    /// Three samples of every cell: half of the rates, the rates, and half as much again.
    static func fetches(rates: [Server: Double] = rates) -> [Sample] {
        sizes.flatMap { size in
            loads.flatMap { load in
                [0.5, 1, 1.5].enumerated().flatMap { number, factor in
                    Server.allCases.compactMap { server in
                        rates[server].map {
                            sample(
                                server, Cell(byteCount: size, load: load), number: number,
                                rate: $0 * factor)
                        }
                    }
                }
            }
        }
    }

    static var report: Report {
        var report = Report(
            machine: MachineFacts(
                date: "2026-11-21T08:00:00Z", processor: "Example <1>", cores: 2,
                memoryByteCount: 8 << 30, kernel: "Linux 6.18", system: "Debian 12",
                fileSystem: "ext4", syncMicroseconds: 41, commit: "0123abc", loadAverage: 0.1),
            servers: Server.allCases.map {
                ServerFacts(
                    server: $0, version: "1.2", command: "\($0.rawValue) --fast", request: "GET ID")
            },
            method: Method(
                sampleCount: 3, seconds: 1, warmUpSeconds: 0.2, serverCores: [0], generatorCore: 1,
                payloadCounts: [1_024: 1_000]))
        report.fetches = fetches()
        let publishers = Cell(byteCount: 1 << 10, load: Load(connections: 64, inFlight: 1))
        report.publishes = [
            sample(.blobd, publishers, number: 0, rate: 3_000),
            sample(.blobdHTTP, publishers, number: 0, rate: 1_500),
            sample(.redis, publishers, number: 0, rate: 2_000),
        ]
        report.reads = [
            ReadSample(reader: .c, number: 0, readsPerSecond: 4e6),
            ReadSample(reader: .withPayload, number: 0, readsPerSecond: 3e6),
        ]
        report.instructionsPerRead = [.c: 1_000, .withPayload: 1_234]
        report.readByteCount = 1 << 10
        report.workers = [1, 2].map {
            WorkersSample(
                workers: $0,
                sample: sample(.blobd, publishers, number: 0, rate: Double($0) * 500_000))
        }
        return report
    }
}
