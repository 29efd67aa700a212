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

    static func publish(
        _ server: Server, _ byteCount: Int, publishers: Int, round: Int, rate: Double,
        on fileSystem: String = "ext4", bytesWritten: Double? = 2.5
    ) -> PublishSample {
        PublishSample(
            server: server,
            cell: PublishCell(
                fileSystem: fileSystem, turnover: .replaced, byteCount: byteCount,
                publishers: publishers),
            round: round, publishesPerSecond: rate, p50Microseconds: 200, p99Microseconds: 900,
            userMicroseconds: 12.34, kernelMicroseconds: 123.4, bytesWrittenPerByte: bytesWritten,
            generatorShare: 0.2)
    }

    /// Two cells on ext4 and one on XFS, three rounds each: blobd's rates are 1, 2 and 1.5 times
    /// redis's in the first cell, 0.5 times in the second. HTTP makes 0.75 times as many.
    static var publishes: PublishReport {
        var report = PublishReport()
        report.storages = [
            Storage(fileSystem: "ext4", device: "the folder's own", syncMicroseconds: 41),
            Storage(fileSystem: "xfs", device: "in a file", syncMicroseconds: 82),
        ]
        report.omissions = ["btrfs: only <ext4> and xfs"]
        report.servers = [Server.blobd, .blobdHTTP, .redis].map {
            ServerFacts(
                server: $0, version: "1.2", command: "\($0.rawValue) --durable", request: "SET")
        }
        report.roundCount = 3
        report.seconds = 2
        report.idCounts = [1_024: 16_384]
        for (round, factor) in [1, 2, 1.5].enumerated() {
            for (fileSystem, size, publishers, factor) in [
                ("ext4", 1 << 10, 64, factor), ("ext4", 1 << 10, 1, 0.5),
                ("xfs", 128 << 10, 64, factor),
            ] {
                // A machine that grows slower from round to round changes no ratio.
                let redis = 2_000 / Double(round + 1)
                for (server, factor) in [
                    (Server.blobd, factor), (.blobdHTTP, 0.75 * factor), (.redis, 1),
                ] {
                    report.samples.append(
                        publish(
                            server, size, publishers: publishers, round: round,
                            rate: redis * factor, on: fileSystem,
                            bytesWritten: fileSystem == "xfs" ? nil : 2.5))
                }
            }
        }
        return report
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
        report.publishes = publishes
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
