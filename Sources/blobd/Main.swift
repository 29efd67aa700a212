import ArgumentParser
import BlobClient
import BlobServer
import Glibc

@main
struct Blobd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blobd",
        abstract: "Stores the payloads of rich push notifications and serves them by id.",
        discussion: """
            Start a daemon, store a picture for a notification, and fetch it:

              blobd serve --data ./data --socket ./blobd.sock &
              export BLOBD_SOCKET=./blobd.sock
              blobd put 42 photo.jpg --ttl 24h --message 'Look who is here'
              blobd get 42 -o fetched.jpg

            Publish a whole notification for a user, and follow its changes:

              blobd publish 43 --owner ann --message 'Dinner?' --part payload=photo.jpg
              blobd changes ann --follow

            Exit codes: 0 success, 1 refused by the daemon or invalid answer, 2 bad usage, 3 not found \
            or expired, 4 no daemon.
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
            TopCommand.self,
            DoctorCommand.self,
            PingCommand.self,
            SignCommand.self, TokenCommand.self,
            ProbeCommand.self,
            PromoteCommand.self,
            VerifyCommand.self,
            ScrubCommand.self,
            BackupCommand.self,
            RestoreCommand.self,
            ReplicasCommand.self,
            CompactCommand.self,
            DumpCommand.self,
            LoadCommand.self,
            BenchCommand.self,
            WalkCommand.self,
        ])

    /// What other programs call our commands.
    private static let otherNames = [
        "delete": "rm", "del": "rm", "remove": "rm", "info": "stat", "show": "stat",
        "list": "ls", "send": "publish", "post": "publish", "upload": "put", "store": "put",
        "fetch": "get", "download": "get", "cat": "get", "read": "get", "check": "doctor",
        "status": "stats", "start": "serve", "run": "serve", "daemon": "serve", "feed": "changes",
        "watch": "changes", "version": "--version",
    ]

    private static func checkCommand() throws(CommandFailure) {
        let commands = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard CommandLine.arguments.count > 1 else { return }
        let word = CommandLine.arguments[1]
        guard !word.hasPrefix("-"), !word.isEmpty, word != "help", !commands.contains(word) else {
            return
        }
        let hint =
            otherNames[word].map { "; did you mean blobd \($0)?" }
            ?? "\(NearestWord.hint(word, commands))."
        throw CommandFailure(
            .badUsage, "unknown command '\(HumanText.line(word))'\(hint) See blobd --help")
    }

    /// Parses the arguments, runs the command and exits with the documented exit codes, which differ from
    /// ArgumentParser's.
    static func main() {
        do {
            try CommandLineText.checkArguments()
            try checkCommand()
            var command = try parseAsRoot()
            try command.run()
        } catch {
            Glibc.exit(ExitStatus.report(error))
        }
    }
}

extension ExitStatus {
    static func report(_ error: any Error) -> Int32 {
        switch error {
        case let failure as CommandFailure:
            StandardError.write("blobd: \(failure.message)\n")
            return failure.status.rawValue
        case let error as ClientError:
            StandardError.write("blobd: \(error)\n")
            if case .noDaemon(let path, let code) = error {
                StandardError.write(SocketAdvice.text(path, errno: code) + "\n")
            }
            return ExitStatus(error).rawValue
        default:
            return reportParser(error)
        }
    }

    /// Handles what ArgumentParser throws: help and the version (both successes), bad usage, exit codes.
    private static func reportParser(_ error: any Error) -> Int32 {
        let code = Blobd.exitCode(for: error)
        let text = Blobd.fullMessage(for: error)
        if code.isSuccess {
            do {
                if !text.isEmpty { try StandardOutput.write(text + "\n") }
            } catch {
                return refused.rawValue
            }
            return done.rawValue
        }
        if !text.isEmpty {
            let prefix = "Error: "
            let words = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
            StandardError.write("blobd: \(words)\n")
        }
        return code == .validationFailure ? badUsage.rawValue : code.rawValue
    }
}
