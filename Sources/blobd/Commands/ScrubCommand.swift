import ArgumentParser
import BlobClient
import Glibc

/// `blobd scrub`: has the daemon read its store again.
struct ScrubCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scrub",
        abstract: "Have the daemon read its store again, to find damage.",
        discussion: """
            Begins a round at once, without pauses. Damaged payloads are quarantined: they are not sent \
            until the same bytes are published again. With --wait the exit code is 1 if there is damage. \
            The daemon does the same by itself, slowly: --scrub-days.

              blobd scrub --wait
              blobd scrub --status --json | jq .quarantine
            """)

    @Flag(help: "Wait for the end of the round.")
    var wait = false

    @Flag(help: "Show how far it is, without beginning a round.")
    var status = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard !wait || !status else {
            throw ValidationError("--wait begins a round; --status does not")
        }
    }

    func run() throws {
        var connection = try socket.connect()
        if !status { try connection.call(.startScrub) }
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
            throw CommandFailure(.refused, "there is damage; the daemon's log names it")
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
            text += "damaged records met: \(HumanText.count(report.damagedRecords))\n"
        }
        if report.damagedEntries > 0 {
            text += "damaged entries met: \(HumanText.count(report.damagedEntries))\n"
        }
        return text
    }

    /// Where the present round is, in words.
    static func state(_ report: ScrubReport) -> String {
        guard report.isRunning else { return "no round is under way" }
        let share = report.bytesRead * 100 / max(1, report.bytesTotal)
        let rate =
            report.bytesPerSecond > 0 ? "\(HumanText.bytes(report.bytesPerSecond))/s" : "waiting"
        return
            "\(min(100, share)) % of \(HumanText.bytes(report.bytesTotal)) read, \(rate)"
    }
}
