import LoadGenerator

/// The daemon.
enum Blobd {
    static func start(
        in place: Place, store: String, workers: Int = 1, cores: [Int]? = nil
    ) throws -> Contender {
        let socket = place.path("\(store).sock")
        var place = place
        if let cores { place.cores = cores }
        let process = try place.start(
            store,
            [
                place.blobd, "serve", "--data", place.path(store), "--socket", socket, "--workers",
                "\(workers)",
            ])
        var contender = try Contender(
            .blobd, process, dialect: BinaryDialect(), socketPath: socket,
            version: Shell.output("'\(place.blobd)' --version"), request: "get, ID",
            hiding: place.folder)
        contender.facts.command =
            "blobd serve --data \(store) --socket \(store).sock --workers \(workers)"
        return contender
    }

    /// The same daemon over HTTP.
    static func http(_ blobd: Contender) -> Contender {
        Contender(
            .blobdHTTP, sharing: blobd, dialect: HTTPDialect(),
            request: "GET /v1/notifications/ID/payload HTTP/1.1")
    }
}

/// The C program, over the daemon's store, which must not change while it reads.
enum Baseline {
    static func start(_ server: Server, in place: Place, store: String) throws -> Contender {
        let mode = server == .baselineSendfile ? "sendfile" : "writev"
        let socket = place.path("c-\(mode).sock")
        let process = try place.start(
            "c-\(mode)", ["\(place.programs)/baseline", place.path(store), socket, mode])
        var contender = try Contender(
            server, process, dialect: BinaryDialect(), socketPath: socket,
            version: "LMDB \(Shell.output("pkg-config --modversion lmdb"))", request: "get, ID",
            hiding: place.folder)
        contender.facts.command = "baseline \(store) c-\(mode).sock \(mode)"
        return contender
    }
}
