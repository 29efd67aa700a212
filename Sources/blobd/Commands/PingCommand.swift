import ArgumentParser
import BlobClient

/// `blobd ping`: asks whether a publish can be stored.
struct PingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Ask whether the daemon can store a publish.",
        discussion: """
            Prints ok. Where a publish would be refused it says why, and the exit code is 1; where no \
            daemon answers it is 4. Over HTTP: /readyz, and /livez, which asks for an answer only.

              blobd ping --socket /run/blobd/blobd.sock
            """)

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        try connection.ping()
        try StandardOutput.write("ok\n")
    }
}
