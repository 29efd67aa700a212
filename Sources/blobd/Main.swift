import ArgumentParser
import BlobServer
import Glibc

/// The root command. Its subcommands are in `Commands/`.
@main
struct Blobd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blobd",
        abstract: "Stores the payloads of rich notifications, and serves them by id.",
        discussion: """
            Start a daemon, give it a picture for a notification, and fetch it back:

              blobd serve --data ./data --socket ./blobd.sock &
              export BLOBD_SOCKET=./blobd.sock
              blobd put 42 photo.jpg --ttl 24h --message 'Look who is here'
              blobd get 42 -o fetched.jpg

            Or publish a notification with all it says to a user, and hear what becomes of it:

              blobd publish 43 --owner ann --message 'Dinner?' --part payload=photo.jpg
              blobd changes ann --follow

            Exit codes: 0 done, 1 the daemon refused or an answer could not be used, 2 bad usage, \
            3 not found or expired, 4 no daemon there.
            """,
        version: blobdVersion,
        subcommands: [
            ServeCommand.self,
            PutCommand.self,
            GetCommand.self,
            StatCommand.self,
            PublishCommand.self,
            MarkCommand.self,
            HistoryCommand.self,
            ChangesCommand.self,
            EnvelopeCommand.self,
            CategoryCommand.self,
            RemoveCommand.self,
            ListCommand.self,
            StatsCommand.self,
            PingCommand.self,
            VerifyCommand.self,
            BenchCommand.self,
            WalkCommand.self,
        ])

    /// Parses the arguments, runs the command and ends the process with the contract's exit codes,
    /// which are not those that ArgumentParser would choose.
    static func main() {
        do {
            try CommandLineText.checkArguments()
            var command = try parseAsRoot()
            try command.run()
        } catch {
            Glibc.exit(ExitStatus.report(error))
        }
    }
}
