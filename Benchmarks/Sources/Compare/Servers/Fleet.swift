import LoadGenerator

/// The servers of a comparison, all running, all with the same payloads. Only one receives requests
/// at a time; the others wait.
final class Fleet {
    private(set) var contenders: [Contender] = []
    private let place: Place

    /// The folder of the daemon's store.
    static let store = "blobd"

    /// Starts `servers` and puts all `payloads` into each.
    ///
    /// - Parameter progress: what is being done, in words.
    init(
        _ servers: [Server], in place: Place, payloads: [LoadPayloads],
        progress: (String) -> Void
    ) throws {
        self.place = place
        let wanted = Set(servers)
        // The C program reads the daemon's own file: of two copies one may lie better in memory.
        contenders = try Blobd.start(wanted.union([.blobd]), in: place) {
            progress($0.server.rawValue)
            try Self.store(payloads, in: $0)
        }
        if wanted.contains(.memcached) {
            progress("memcached")
            contenders.append(try Memcached.start(in: place))
            try Self.store(payloads, in: contenders[contenders.count - 1])
        }
        if wanted.contains(.redis) {
            progress("redis")
            contenders.append(try Redis.start(in: place, isDurable: false))
            try Self.store(payloads, in: contenders[contenders.count - 1])
        }
        if wanted.contains(.nginx) || wanted.contains(.varnish) {
            progress("nginx")
            let nginx = try Nginx.start(in: place)
            for some in payloads { try Nginx.store(some, in: place) }
            contenders.append(nginx)
            if wanted.contains(.varnish) {
                progress("varnish")
                contenders.append(try Varnish.start(in: place, before: nginx))
            }
        }
        for server in Server.baselines where wanted.contains(server) {
            progress(server.rawValue)
            contenders.append(try Baseline.start(server, in: place, store: Self.store))
        }
        _ = Shell.output("sync")
        // Some listen before they have started the processes that answer; by now they have.
        for index in contenders.indices {
            if let process = contenders[index].process {
                contenders[index].processes = process.processes
            }
        }
    }

    private static func store(_ payloads: [LoadPayloads], in contender: Contender) throws {
        for some in payloads {
            try LoadRun(
                contender.dialect, some, LoadOptions(socketPath: contender.socketPath)
            ).store()
        }
    }

    func stop() {
        // varnish stops before nginx, from which it fetches.
        for contender in contenders.reversed() { contender.process?.stop() }
    }
}
