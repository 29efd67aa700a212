import ArgumentParser
import BlobClient

/// `blobd promote`: has a follower take the lead of its shard.
struct PromoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Have a follower take the lead of its shard.",
        discussion: """
            The leader is asked to hand over: it takes no more changes, ships what it has, and follows. \
            Nothing is lost, and it takes about a second. With --force the leader is not asked: it is gone, \
            and what it acknowledged as local and had not shipped is lost. A leader that comes back follows.

              blobd promote --socket /run/blobd/follower.sock
              blobd promote --force
            """)

    @Flag(help: "Do not ask the leader: it is gone.")
    var force = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        let answer = try connection.answer(to: .promote(isForced: force))
        let report = try connection.call(.replication)
        try StandardOutput.write(
            json
                ? String(decoding: answer.body, as: UTF8.self) + "\n"
                : "\(report.leader ?? "this daemon") leads epoch \(report.epoch ?? 0), behind change \(report.sequence ?? 0)\n"
        )
    }
}
