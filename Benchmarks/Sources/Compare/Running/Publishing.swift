import Glibc
import LoadGenerator

/// Durable publishes in a steady state: the daemon in both dialects against redis, in turn.
struct Publishing {
    var plan: PublishPlan
    var place: Place
    var progress: Progress

    /// After a round, for deferred work: a server commits and syncs before its figures are read.
    private static let settleMicroseconds: UInt32 = 200_000

    /// Every cell on every file system that there is.
    func report() throws -> PublishReport {
        var report = PublishReport()
        report.roundCount = plan.roundCount
        report.seconds = plan.seconds
        for size in plan.sizes where plan.turnovers.contains(.replaced) {
            report.idCounts[size] = plan.idCount(.replaced, byteCount: size)
        }
        let own = Volume.name(of: place.folder)
        let usual = own == "tmpfs" ? Volume.made : own == "xfs" ? [own] : [own, "xfs"]
        for name in plan.fileSystems ?? usual {
            progress.part("publishes on \(name)")
            do {
                let isOwn = name == own && !plan.inFiles
                let volume = try isOwn ? Volume.own(place) : Volume.inFile(name, place)
                defer { volume.remove() }
                try measure(on: volume, &report)
            } catch let omission as Volume.Omission {
                report.omissions.append("\(name): \(omission.description)")
                progress.part("\(name) is left out: \(omission.description)")
            }
        }
        if report.storages.isEmpty, plan.fileSystems == nil {
            let volume = try Volume.own(place)
            defer { volume.remove() }
            try measure(on: volume, &report)
        }
        return report
    }

    private func measure(on volume: Volume, _ report: inout PublishReport) throws {
        report.storages.append(volume.storage)
        for cell in plan.cells(on: volume.storage.fileSystem) {
            progress.part(
                "publishes, \(cell.fileSystem), ids \(cell.turnover.rawValue), \(cell.label)")
            // Each cell starts its own servers, so that none pays for the previous cell.
            let place = try volume.place.within("cell")
            defer { place.remove() }
            let contenders = try start(in: place, cell)
            defer { for contender in contenders { contender.process?.stop() } }
            report.servers = contenders.map(\.facts)
            try fill(contenders, cell)
            report.samples += try rounds(contenders, cell, volume)
        }
    }

    private func start(in place: Place, _ cell: PublishCell) throws -> [Contender] {
        let ttl = plan.ttlSeconds(cell.turnover)
        var contenders: [Contender] = []
        if !Set(plan.servers).isDisjoint(with: [.blobd, .blobdHTTP]) {
            var blobd = try Blobd.start(in: place, store: "blobd")
            blobd.dialect = BinaryDialect(ttlSeconds: Int64(ttl))
            blobd.facts.request = "put, ID, TTL, BODY"
            var http = Blobd.http(blobd)
            http.dialect = HTTPDialect(publishPath: { id in
                "/v1/notifications/\(id)/payload?ttl=\(ttl)"
            })
            http.facts.request = "PUT /v1/notifications/ID/payload?ttl=TTL HTTP/1.1"
            contenders += [blobd, http]
        }
        if plan.servers.contains(.redis) {
            var redis = try Redis.start(in: place, isDurable: true)
            redis.dialect = RedisDialect(ttlSeconds: ttl)
            redis.facts.request = "SET ID BODY EX TTL"
            contenders.append(redis)
        }
        return contenders
    }

    /// Publishes to every id, and replaces every one once: what follows finds no fresh store.
    private func fill(_ contenders: [Contender], _ cell: PublishCell) throws {
        guard cell.turnover == .replaced else { return }
        // In whichever dialect, the daemon's store is one.
        for contender in contenders where contender.process != nil {
            progress.step("\(cell.label): filling \(contender.server.rawValue)")
            var options = options(contender, cell, round: 0)
            options.connections = PublishPlan.fillConnections
            try LoadRun(contender.dialect, plan.payloads(cell), options).publish(times: 2)
        }
        progress.advance(plan.cellSeconds)
    }

    private func rounds(
        _ contenders: [Contender], _ cell: PublishCell, _ volume: Volume
    ) throws -> [PublishSample] {
        let contenders = contenders.filter { plan.servers.contains($0.server) }
        let payloads = try plan.payloads(cell)
        var samples: [PublishSample] = []
        for round in 0..<plan.roundCount {
            for contender in Plan.rotated(contenders, by: round) {
                progress.step(
                    "\(cell.fileSystem), \(cell.label), round \(round + 1), "
                        + contender.server.rawValue)
                samples.append(try sample(contender, cell, payloads, round: round, volume))
                progress.advance(plan.roundSeconds(cell.turnover))
            }
        }
        return samples
    }

    private func sample(
        _ contender: Contender, _ cell: PublishCell, _ payloads: LoadPayloads, round: Int,
        _ volume: Volume
    ) throws -> PublishSample {
        var options = options(contender, cell, round: round)
        if cell.turnover == .expiring {
            // From now on as many expire as are published. The same seed publishes to the same ids
            // again, starting with the first, which have all expired.
            options.seconds = PublishPlan.expirySeconds
            _ = try Plan.measure(contender, cell.label, payloads, options)
        }
        options.seconds = plan.seconds
        let before = Usage(contender, volume)
        let figures = try Plan.measure(contender, cell.label, payloads, options)
        usleep(Self.settleMicroseconds)
        let after = Usage(contender, volume)
        // What still expires must not cost the next server its time.
        if cell.turnover == .expiring { usleep(UInt32(PublishPlan.expirySeconds * 1e6)) }
        let count = Double(figures.requests)
        let time = after.time(since: before)
        return PublishSample(
            server: contender.server, cell: cell, round: round,
            publishesPerSecond: figures.requestsPerSecond,
            p50Microseconds: figures.latency.p50Microseconds,
            p99Microseconds: figures.latency.p99Microseconds,
            userMicroseconds: time.map { $0.user / count },
            kernelMicroseconds: time.map { $0.kernel / count },
            bytesWrittenPerByte: after.bytesWritten(since: before).map {
                $0 / (count * Double(cell.byteCount))
            },
            generatorShare: figures.generator.cpuShare)
    }

    private func options(
        _ contender: Contender, _ cell: PublishCell, round: Int
    ) -> LoadOptions {
        var options = LoadOptions(socketPath: contender.socketPath)
        options.connections = cell.publishers
        options.warmUpSeconds = 0
        options.readPercent = 0
        options.publishOrder = .scattered
        options.seed = UInt64(round + 1)
        options.core = plan.generatorCore
        return options
    }
}

/// What a server and the device have done so far.
private struct Usage {
    private let processor: ProcessorTime?
    private let byteCount: Int?

    /// Reads it once all is on the device.
    init(_ contender: Contender, _ volume: Volume) {
        volume.sync()
        byteCount = volume.bytesWritten
        processor = contender.processes.first.flatMap(ProcessorTime.init)
    }

    func time(since earlier: Usage) -> (user: Double, kernel: Double)? {
        guard let processor, let before = earlier.processor else { return nil }
        return processor.microseconds(since: before)
    }

    func bytesWritten(since earlier: Usage) -> Double? {
        guard let byteCount, let before = earlier.byteCount else { return nil }
        return Double(byteCount - before)
    }
}
