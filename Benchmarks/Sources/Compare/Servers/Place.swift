/// Where servers run: their folder, their cores, and the programs that are ours.
struct Place {
    /// For sockets, data and logs. It is short, since a socket's path must be.
    var folder: String
    /// The servers' cores.
    var cores: [Int]
    /// The daemon's executable.
    var blobd: String
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
