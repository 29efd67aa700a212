import ArgumentParser
import BlobClient
import Glibc

struct PingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Test whether the daemon can store a publish.",
        discussion: """
            Prints ok if a publish can be stored or, on a follower, if its disk has space. Otherwise prints \
            the reason and exits with 1. Over HTTP, /readyz is never ready on a follower.

              blobd ping --socket /run/blobd/blobd.sock
            """)

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        try connection.ping()
        try StandardOutput.write("ok\n")
    }
}

struct PromoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Make a follower the leader of its shard.",
        discussion: """
            Asks the leader to hand over: it accepts no more changes, ships the last ones, and follows. This \
            takes about a second and loses nothing. With --force, for a leader that is gone, local changes \
            that it had not shipped are lost.

              blobd promote --socket /run/blobd/follower.sock
              blobd promote --force
            """)

    @Flag(help: "Do not ask the leader, because it is gone.")
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
                : "\(report.leader ?? "this daemon") leads epoch \(report.epoch ?? 0), after change \(report.sequence ?? 0)\n"
        )
    }
}

struct ScrubCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scrub",
        abstract: "Have the daemon reread its store to find damage.",
        discussion: """
            Starts a round at once, without pauses, and does not wait for its end: --status shows its \
            progress and result. With --wait, prints the result, and exits with 1 if damage was found. \
            Damaged payloads are quarantined: they are not sent until the same bytes are published again. The \
            daemon also does this slowly by itself: --scrub-days.

              blobd scrub --wait
              blobd scrub --status --json | jq .quarantine
            """)

    @Flag(help: "Wait for the end of the round.")
    var wait = false

    @Flag(help: "Show the progress, without starting a round.")
    var status = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try require(!wait || !status, "--wait begins a round; --status does not")
    }

    func run() throws {
        var connection = try socket.connect()
        if !status { try connection.call(.startScrub) }
        // What is known is of the round before.
        guard status || wait else {
            return try StandardOutput.write(
                json
                    ? try JSONLine.object(["started": true])
                    : "started a round; to follow it: blobd scrub --status\n")
        }
        if wait {
            var progress = ProgressBar("scrub")
            while true {
                let report = try connection.call(.scrub)
                guard report.isRunning else { break }
                progress.update(
                    UInt64(clamping: report.bytesRead), of: UInt64(clamping: report.bytesTotal))
                usleep(100_000)
            }
            progress.finish()
        }
        let answer = try connection.answer(to: .scrub)
        let report = try DaemonCall.scrub.read(answer)
        try StandardOutput.write(
            json ? String(decoding: answer.body, as: UTF8.self) + "\n" : Self.text(report))
        let damage = report.quarantined + report.damagedRecords + report.damagedEntries
        if wait, damage > 0 {
            throw CommandFailure(.refused, "damage was found; the daemon's log names it")
        }
    }

    static func text(_ report: ScrubReport) -> String {
        var text = Self.state(report) + "\n"
        if let ended = report.lastEndedAt { text += "last round ended: \(ended)\n" }
        text += "damaged payloads: \(HumanText.count(report.quarantined))\n"
        for blob in report.quarantine ?? [] {
            text +=
                "  \(blob.digest)  \(HumanText.bytes(blob.byteCount)), \(HumanText.count(blob.references)) references, found \(blob.foundAt)\n"
        }
        if report.damagedRecords > 0 {
            text += "damaged records found: \(HumanText.count(report.damagedRecords))\n"
        }
        if report.damagedEntries > 0 {
            text += "damaged entries found: \(HumanText.count(report.damagedEntries))\n"
        }
        return text
    }

    static func state(_ report: ScrubReport) -> String {
        guard report.isRunning else { return "no round is running" }
        let share = report.bytesRead * 100 / max(1, report.bytesTotal)
        let rate =
            report.bytesPerSecond > 0 ? "\(HumanText.bytes(report.bytesPerSecond))/s" : "waiting"
        return
            "\(min(100, share)) % of \(HumanText.bytes(report.bytesTotal)) read, \(rate)"
    }
}
