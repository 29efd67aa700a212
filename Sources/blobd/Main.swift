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

            --socket and --timeout may also stand before the command:

              blobd --socket ./blobd.sock ping

            Exit codes: 0 success, 1 refused, invalid answer or timeout, 2 bad usage, 3 not found or \
            expired, 4 no daemon, 5 not checked.
            """,
        version: blobdVersion,
        groupedSubcommands: [
            CommandGroup(
                name: "Daemon",
                subcommands: [
                    ServeCommand.self, StatsCommand.self, TopCommand.self, DoctorCommand.self,
                    PingCommand.self,
                ]),
            CommandGroup(
                name: "Payload",
                subcommands: [
                    PutCommand.self, GetCommand.self, StatCommand.self, RemoveCommand.self,
                    ListCommand.self,
                ]),
            CommandGroup(
                name: "Notification",
                subcommands: [
                    PublishCommand.self, MarkCommand.self, HistoryCommand.self,
                    ChangesCommand.self, EnvelopeCommand.self, CategoryCommand.self,
                ]),
            CommandGroup(name: "Device", subcommands: [SignCommand.self, TokenCommand.self]),
            CommandGroup(
                name: "Store",
                subcommands: [
                    VerifyCommand.self, ScrubCommand.self, BackupCommand.self,
                    RestoreCommand.self, CompactCommand.self, DumpCommand.self, LoadCommand.self,
                    WalkCommand.self,
                ]),
            CommandGroup(
                name: "Replication",
                subcommands: [ProbeCommand.self, PromoteCommand.self, ReplicasCommand.self]),
        ])

    /// What other programs call our commands.
    private static let otherNames = [
        "delete": "rm", "del": "rm", "remove": "rm", "info": "stat", "show": "stat",
        "list": "ls", "send": "publish", "post": "publish", "upload": "put", "store": "put",
        "fetch": "get", "download": "get", "cat": "get", "read": "get", "check": "doctor",
        "status": "stats", "start": "serve", "run": "serve", "daemon": "serve", "feed": "changes",
        "watch": "changes", "version": "--version",
    ]

    private static func check(command word: String) throws(CommandFailure) {
        let commands = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard !word.hasPrefix("-"), !word.isEmpty, word != "help", !commands.contains(word) else {
            return
        }
        let hint =
            otherNames[word].map { "; did you mean blobd \($0)?" }
            ?? "\(NearestWord.hint(word, commands))."
        throw CommandFailure(
            .badUsage, "unknown command '\(HumanText.line(word))'\(hint) See blobd --help")
    }

    /// Without standard input, output or error, the next files that are opened would get their numbers, and what is
    /// printed would be written to them. `/dev/null` gets them instead, only to be read, so that printing still fails.
    private static func openStandardDescriptors() {
        for number in 0...2 as ClosedRange<Int32> where fcntl(number, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDONLY)
        }
    }

    /// Parses the arguments, runs the command and exits with the documented exit codes, which differ from
    /// ArgumentParser's.
    static func main() {
        openStandardDescriptors()
        do {
            try CommandLineText.checkArguments()
            let (global, rest) = GlobalOptions.split(CommandLine.arguments.dropFirst())
            guard let word = rest.first, !word.hasPrefix("-"), word != "help" else {
                var command = try DescribedBlobd.parseAsRoot(global + rest)
                return try command.run()
            }
            try check(command: word)
            // Before the arguments are parsed, which takes milliseconds.
            if word == ServeCommand.configuration.commandName { ServeCommand.holdReload() }
            var command = try parseAsRoot([word] + global + rest.dropFirst())
            try command.run()
        } catch {
            Glibc.exit(ExitStatus.report(error))
        }
    }
}

/// Options that may also stand before the command.
private enum GlobalOptions {
    private static let names = ["--socket", "--timeout"]

    static func split(_ arguments: ArraySlice<String>) -> (global: [String], rest: [String]) {
        var rest = arguments
        var global: [String] = []
        while let word = rest.first, names.contains(String(word.prefix { $0 != "=" })) {
            // The value is the next word, unless the option has it: --socket=PATH.
            let count = word.contains("=") ? 1 : 2
            global += rest.prefix(count)
            rest = rest.dropFirst(count)
        }
        return (global, Array(rest))
    }
}

/// What help, man pages and completions are made from: ``Blobd`` with its global options. If the parser knew them, it
/// would take them from behind every command, also from `serve` and `doctor`, which have others of these names.
private struct DescribedBlobd: ParsableCommand {
    static let configuration = Blobd.configuration

    @OptionGroup var socket: SocketOptions
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
        let code = DescribedBlobd.exitCode(for: error)
        let text = DescribedBlobd.fullMessage(for: error)
        if code.isSuccess {
            do {
                // Where bash's script has nothing, as after the = of a part, bash completes file names.
                let script = text.replacing(
                    "complete -o filenames", with: "complete -o default -o filenames")
                if !text.isEmpty { try StandardOutput.write(script + "\n") }
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
