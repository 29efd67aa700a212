import ArgumentParser
import BlobClient

/// `blobd ping`: asks whether a publish can be stored.
struct PingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Test whether the daemon can store a publish.",
        discussion: """
            Prints ok if a publish can be stored. Otherwise prints the reason and exits with 1; without \
            a daemon it exits with 4. Over HTTP: /readyz. /livez tests only that the daemon answers.

              blobd ping --socket /run/blobd/blobd.sock
            """)

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        try connection.ping()
        try StandardOutput.write("ok\n")
    }
}
