import Glibc
import LoadGenerator

/// Durable publishes: the daemon in both dialects against redis, and the floor, in turn.
struct Publishing {
    var plan: PublishPlan
    var place: Place
    var progress: Progress

    /// Every cell on every file system that there is.
    func report() throws -> PublishReport {
        var report = PublishReport()
        report.roundCount = plan.roundCount
        report.seconds = plan.seconds
        for size in plan.sizes
        where plan.operations.contains(.publish) && plan.turnovers.contains(.replaced) {
            report.replacedIDs[size] = plan.idCount(.replaced, byteCount: size)
        }
        let own = Volume.name(of: place.folder)
        let usual = own == "tmpfs" ? Volume.made : own == "xfs" ? [own] : [own, "xfs"]
        for (number, name) in (plan.fileSystems ?? usual).enumerated() {
            let cells = plan.cells(on: name, isFurther: plan.fileSystems == nil && number > 0)
            guard !cells.isEmpty else { continue }
            do {
                let isOwn = name == own && !plan.inFiles
                let volume =
                    try isOwn
                    ? Volume.own(place)
                    : Volume.inFile(name, place, most: plan.volumeByteCount)
                defer { volume.remove() }
                try measure(cells, on: volume, &report)
            } catch let omission as Volume.Omission {
                report.omissions.append("\(name): \(omission.description)")
                progress.part("\(name) is left out: \(omission.description)")
            }
        }
        if report.storages.isEmpty, plan.fileSystems == nil {
            let volume = try Volume.own(place)
            defer { volume.remove() }
            try measure(plan.cells(on: own, isFurther: false), on: volume, &report)
        }
        return report
    }

    private func measure(
        _ cells: [PublishCell], on volume: Volume, _ report: inout PublishReport
    ) throws {
        report.storages.append(volume.storage)
        for stored in plan.stored where stored > 0 { try store(stored, on: volume) }
        for cell in cells {
            progress.part(cell.label)
            // Each cell starts its own servers, so that none pays for the previous cell; with new ids each round does,
            // or disk and memory would fill up.
            let kept = cell.turnover == .new ? [] : try start(plan.servers(cell), for: cell, volume)
            defer { stop(kept, volume) }
            try fill(kept, cell)
            progress.advance(plan.cellSeconds)
            for round in 0..<plan.roundCount {
                for server in Plan.rotated(plan.servers(cell), by: round) {
                    progress.step("\(cell.label), round \(round + 1), \(server.rawValue)")
                    let new = kept.isEmpty ? try start([server], for: cell, volume) : []
                    defer { if !new.isEmpty { stop(new, volume) } }
                    for contender in kept + new where contender.server == server {
                        report.samples.append(try sample(contender, cell, round: round, volume))
                        if !report.servers.contains(where: { $0.server == server }) {
                            report.servers.append(contender.facts)
                        }
                    }
                    progress.advance(plan.roundSeconds(cell.turnover))
                }
            }
        }
    }

    /// Where the servers of a cell or a round have their data, and what they begin with.
    private func folder(_ volume: Volume, stored: Int? = nil) throws -> Place {
        try volume.place.within(stored.map { "stored-\($0)" } ?? "cell")
    }

    /// Starts servers on copies of what is stored before. Holes are filled and no block is shared: what a server had
    /// allocated ahead stays so.
    private func start(
        _ servers: [Server], for cell: PublishCell, _ volume: Volume
    ) throws -> [Contender] {
        let place = try folder(volume)
        if cell.stored > 0 {
            let stored = try folder(volume, stored: cell.stored)
            for server in servers {
                let (from, to) = (stored.path(server.stored), place.path(server.data))
                _ = Shell.output(
                    "[ -e '\(to)' ] || cp -r --sparse=never --reflink=never '\(from)' '\(to)'")
            }
        }
        return try start(servers, for: cell, in: place)
    }

    private func start(
        _ servers: [Server], for cell: PublishCell, in place: Place
    ) throws -> [Contender] {
        let ttl = plan.ttlSeconds(cell.turnover)
        var contenders = try Blobd.start(servers, in: place) { _ in }
        if servers.contains(.redis) {
            contenders.append(try Redis.start(in: place, isDurable: true))
        }
        if servers.contains(.floor) { contenders.append(try Floor.start(in: place)) }
        for index in contenders.indices {
            let (dialect, request): (any LoadDialect, String) =
                switch contenders[index].server {
                case .blobd, .blobdSpin0:
                    (BinaryDialect(ttlSeconds: Int64(ttl)), "put, ID, TTL, BODY")
                case .redis where cell.operation == .event:
                    (RedisStreamDialect(ttlSeconds: ttl), "MULTI, XADD, SET ID BODY EX TTL, EXEC")
                case .redis: (RedisDialect(ttlSeconds: ttl), "SET ID BODY EX TTL")
                default:
                    (
                        HTTPDialect(publishPath: { "/v1/notifications/\($0)/payload?ttl=\(ttl)" }),
                        "PUT /v1/notifications/ID/payload?ttl=TTL HTTP/1.1"
                    )
                }
            contenders[index].dialect = dialect
            contenders[index].facts.request = request
        }
        return contenders
    }

    private func stop(_ contenders: [Contender], _ volume: Volume) {
        for contender in contenders { contender.process?.stop() }
        try? folder(volume).remove()
    }

    /// Publishes so many notifications with owners, to be copied for each start.
    private func store(_ count: Int, on volume: Volume) throws {
        progress.part("storing \(count) on \(volume.storage.fileSystem)")
        let cell = PublishCell(
            operation: .publish, fileSystem: volume.storage.fileSystem, turnover: .new,
            hasOwners: true, stored: 0, byteCount: 256, connections: PublishPlan.fillConnections)
        // In whichever dialect, and with whichever `spin`, the daemon's store is one.
        let servers = Set(plan.servers.map { $0 == .redis || $0 == .floor ? $0 : .blobd })
        let contenders = try start(Array(servers), for: cell, in: folder(volume, stored: count))
        defer { for contender in contenders { contender.process?.stop() } }
        for contender in contenders where contender.process != nil {
            progress.step("storing \(count) in \(contender.server.rawValue)")
            var options = options(contender, cell, round: 0)
            // The floor takes one request at a time.
            options.depth = contender.server == .floor ? 1 : 16
            try publish(cell, to: contender, options, times: count / PublishPlan.newCount)
        }
    }

    /// Publishes to every id, and replaces every one once: what follows finds no fresh store.
    private func fill(_ contenders: [Contender], _ cell: PublishCell) throws {
        guard cell.turnover == .replaced else { return }
        // In whichever dialect, the daemon's store is one.
        for contender in contenders where contender.process != nil {
            progress.step("\(cell.label): filling \(contender.server.rawValue)")
            var options = options(contender, cell, round: 0)
            options.connections = PublishPlan.fillConnections
            try publish(cell, to: contender, options, times: 2)
        }
    }

    private func publish(
        _ cell: PublishCell, to contender: Contender, _ options: LoadOptions, times: Int
    ) throws {
        do {
            try LoadRun(contender.dialect, plan.payloads(cell), options).publish(times: times)
        } catch {
            throw CompareFailure("\(contender.server.rawValue), \(cell.label): \(error)")
        }
    }

    private func sample(
        _ contender: Contender, _ cell: PublishCell, round: Int, _ volume: Volume
    ) throws -> PublishSample {
        let payloads = try plan.payloads(cell)
        var options = options(contender, cell, round: round)
        if cell.turnover != .replaced {
            // From now on as many expire as are published. The same seed publishes to the same ids
            // again, starting with the first, which have all expired.
            options.seconds =
                cell.turnover == .new ? PublishPlan.warmUpSeconds : PublishPlan.expirySeconds
            _ = try Plan.measure(contender, cell.label, payloads, options)
        }
        options.seconds = plan.seconds
        let before = Usage(contender, volume)
        let figures = try Plan.measure(contender, cell.label, payloads, options)
        usleep(UInt32(PublishPlan.settleSeconds * 1e6))
        let after = Usage(contender, volume)
        // What still expires must not cost the next server its time.
        if cell.turnover == .expiring { usleep(UInt32(PublishPlan.expirySeconds * 1e6)) }
        guard let done = cell.operation == .pair ? figures.fetches : figures.publishes else {
            throw CompareFailure("\(contender.server.rawValue), \(cell.label): nothing was done")
        }
        let count = Double(done.requests)
        let time = after.time(since: before)
        return PublishSample(
            server: contender.server, cell: cell, round: round,
            perSecond: done.requestsPerSecond, publish: Latency(figures.publishes),
            fetch: Latency(figures.fetches), event: Latency(figures.events),
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
        if cell.operation == .event {
            options.watchers = cell.connections
        } else {
            options.connections = cell.connections
        }
        options.pairs = cell.operation == .pair
        options.hasOwners = cell.hasOwners
        options.warmUpSeconds = 0
        options.readPercent = 0
        options.publishOrder = cell.turnover == .new ? .new : .scattered
        options.check = .sample
        options.seed = UInt64(round + 1)
        options.core = plan.generatorCore
        return options
    }
}

extension Server {
    /// The folder of its data, and that of what is stored before.
    fileprivate var data: String {
        switch self {
        case .blobdSpin0, .blobdHTTPSpin0: Server.blobdSpin0.rawValue
        default: stored
        }
    }
    fileprivate var stored: String {
        switch self {
        case .redis: "redis-durable"
        case .floor: rawValue
        default: Fleet.store
        }
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
