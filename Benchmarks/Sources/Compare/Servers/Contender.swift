import LoadGenerator

/// A server that runs, and how to speak to it.
struct Contender {
    var facts: ServerFacts
    var dialect: any LoadDialect
    var socketPath: String
    /// Nil when it is another contender's process, spoken to in another dialect.
    var process: ServerProcess?
    /// Whose processor time its answers cost.
    var processes: [Int32]

    var server: Server { facts.server }

    /// One that has just been started; waits until it listens.
    init(
        _ server: Server, _ process: ServerProcess, dialect: any LoadDialect, socketPath: String,
        version: String, request: String, hiding folder: String
    ) throws {
        try process.waitForSocket(socketPath)
        self.dialect = dialect
        self.socketPath = socketPath
        self.process = process
        processes = process.processes
        let command = process.command.split(separator: "\(folder)/").joined()
        facts = ServerFacts(server: server, version: version, command: command, request: request)
    }

    /// The same process under another name and in another dialect.
    init(_ server: Server, sharing other: Contender, dialect: any LoadDialect, request: String) {
        self = other
        self.dialect = dialect
        process = nil
        facts.server = server
        facts.request = request
    }
}

/// Where servers run: their folder, their cores, and the programs that are ours.
struct Place {
    /// For sockets, data and logs. It is short, since a socket's path must be.
    var folder: String
    /// The servers' cores.
    var cores: [Int]
    /// The daemon's executable.
    var blobd: String
    /// The floor's executable and its further arguments; empty: it takes no part.
    var floor: [String]
    /// The folder with our own executables.
    var programs: String

    /// A path in the folder.
    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// A new place inside this one, for servers that begin with nothing.
    func within(_ name: String) throws -> Place {
        var place = self
        place.folder = path(name)
        try Files.makeFolder(place.folder)
        return place
    }

    /// Removes a place that was made ``within(_:)`` another.
    func remove() { _ = Shell.output("rm -rf '\(folder)'") }

    /// Starts a command here.
    func start(_ name: String, _ arguments: [String]) throws -> ServerProcess {
        try ServerProcess(arguments, cores: cores, log: path("\(name).log"))
    }
}
