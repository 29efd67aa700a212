import ArgumentParser
import BlobClient

struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Delete notifications with all their parts.",
        usage: """
            blobd rm <id> ... [--ids-from <list>]
            blobd rm --owner <user> --group <name> [--app <name>] [--device <name>]
            """,
        discussion: """
            The deletion is on disk when the command returns. A payload is deleted with the last \
            notification that refers to it. If an id does not exist, reports it, deletes the others, and \
            exits with 3.

              blobd rm 42 43
              blobd rm --ids-from ids.txt
              blobd rm --owner ann --group weekend    # prints how many
            """)

    @Argument(help: .named("id", "The notifications' ids."))
    var ids: [String] = []

    @Option(help: .named("list", "Also the ids in this file, one per line."), completion: .file())
    var idsFrom: String?

    @Option(help: .named("user", "The group's owner."))
    var owner: String?

    @Option(help: .named("name", "Delete all notifications of this group."))
    var group: String?

    @Option(help: .named("name", "Only notifications of this app."))
    var app: String?

    @Option(help: .named("name", "The device that makes the change, with --group."))
    var device: String?

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        let hasIDs = !ids.isEmpty || idsFrom != nil
        guard owner != nil || group != nil || app != nil || device != nil else {
            try require(hasIDs, "Missing expected argument '<id>'")
            return
        }
        try require(!hasIDs, "ids cannot be used with --owner, --group, --app and --device")
        try require(owner != nil && group != nil, "give ids, or --owner and --group")
    }

    func run() throws {
        if let owner, let group {
            var connection = try socket.connect()
            let count = try connection.call(
                .deleteGroup(group, of: owner, app: app, device: device))
            return try StandardOutput.write("removed \(HumanText.count(count))\n")
        }
        var all = ids
        if let idsFrom { all += try IDList.read(idsFrom) }
        var worst: ExitStatus = .done
        var progress = ProgressBar("removing") { "\(HumanText.count($0)) notifications" }
        defer { progress.finish() }
        var done: UInt64 = 0
        let total = UInt64(all.count)
        let pool = try ConnectionPool(
            try socket.connect(), count: min(all.count, ConnectionPool.changeCountMax), socket)
        try pool.forEach(all) { connection, id in
            _ = try connection.queueCall(.delete(id))
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
