import LoadGenerator

/// The daemon.
enum Blobd {
    /// - Parameter spin: microseconds; nil: the default.
    static func start(
        in place: Place, store: String, workers: Int = 1, spin: Int? = nil, cores: [Int]? = nil
    ) throws -> Contender {
        let socket = place.path("\(store).sock")
        var place = place
        if let cores { place.cores = cores }
        let options =
            ["--workers", "\(workers)", "--max-watchers-per-owner", "4096"]
            + (spin.map { ["--spin", "\($0)"] } ?? [])
        let process = try place.start(
            store,
            [place.blobd, "serve", "--data", place.path(store), "--socket", socket] + options)
        var contender = try Contender(
            spin == 0 ? .blobdSpin0 : .blobd, process, dialect: BinaryDialect(),
            socketPath: socket, version: Shell.output("'\(place.blobd)' --version"),
            request: "get, ID", hiding: place.folder)
        contender.facts.command =
            (["blobd serve --data \(store) --socket \(store).sock"] + options)
            .joined(separator: " ")
        return contender
    }

    /// The daemons that `servers` need, in both dialects: one with the default `spin` and one without, each with a
    /// store of its own.
    static func start(
        _ servers: some Sequence<Server>, in place: Place, prepare: (Contender) throws -> Void
    ) throws -> [Contender] {
        try [(Server.blobd, Server.blobdHTTP, nil), (.blobdSpin0, .blobdHTTPSpin0, 0)]
            .filter { servers.contains($0.0) || servers.contains($0.1) }
            .flatMap { (binary, http, spin) in
                let blobd = try start(
                    in: place, store: spin == nil ? Fleet.store : binary.rawValue, spin: spin)
                try prepare(blobd)
                return [
                    blobd,
                    Contender(
                        http, sharing: blobd, dialect: HTTPDialect(),
                        request: "GET /v1/notifications/ID/payload HTTP/1.1"),
                ]
            }
    }
}

/// The program of `--floor`: as little as a program must do for durable publishes over HTTP. It takes the paths of its
/// socket and its folder, and further arguments.
enum Floor {
    static func start(in place: Place) throws -> Contender {
        let socket = place.path("floor.sock")
        let process = try place.start(
            "floor", [place.floor[0], socket, place.path("floor")] + place.floor.dropFirst())
        return try Contender(
            .floor, process, dialect: HTTPDialect(), socketPath: socket, version: "",
            request: "GET /v1/notifications/ID/payload HTTP/1.1", hiding: place.folder)
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
