import ArgumentParser
import BlobClient

/// `blobd rm`: removes notifications.
struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Remove notifications with all their parts.",
        discussion: """
            When it returns the removal is on the daemon's disk. The bytes of a payload go when the \
            last notification that has them goes. Says nothing when all went well; an id that is not \
            there is reported, the others are removed all the same, and the exit code is 3.

              blobd rm 42 43
              blobd rm --ids-from ids.txt
            """)

    @Argument(help: ArgumentHelp("The notifications' ids.", valueName: "id"))
    var ids: [String] = []

    @Option(help: ArgumentHelp("Also those in this file, one a line.", valueName: "list"))
    var idsFrom: String?

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard !ids.isEmpty || idsFrom != nil else {
            throw ValidationError("Missing expected argument '<id>'")
        }
    }

    func run() throws {
        var all = ids
        if let idsFrom { all += try IDList.read(idsFrom) }
        var worst: ExitStatus = .done
        var progress = ProgressBar("removing") { "\(HumanText.count($0)) notifications" }
        defer { progress.finish() }
        var done: UInt64 = 0
        let total = UInt64(all.count)
        let lanes = try Lanes(
            try socket.connect(), count: min(all.count, Lanes.changeCountMax), socket)
        try lanes.forEach(all) { connection, id in
            _ = try connection.queueDelete(id)
        } take: { id, outcome in
            done += 1
            progress.update(done, of: total)
            guard case .failed(let error) = outcome else { return }
            progress.finish()
            StandardError.write("blobd: \(HumanText.line(id)): \(error)\n")
            if worst != .refused { worst = ExitStatus(error) }
        }
        progress.finish()
        if worst != .done { throw ExitCode(worst.rawValue) }
    }
}
