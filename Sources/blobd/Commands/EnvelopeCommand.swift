import ArgumentParser
import BlobClient

/// `blobd envelope`: renders the push for a notification.
struct EnvelopeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "envelope",
        abstract: "Print the push to send for a notification.",
        discussion: """
            It has the notification's id and never its payload: the device fetches that. What would be \
            longer than the provider takes is refused. Token or topic are the sender's to add.

              blobd envelope 42 --platform apns
              blobd envelope 42 --platform apns --style alert
              blobd envelope 42 --platform fcm | jq .message
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String

    @Option(help: ArgumentHelp("Whose push service.", valueName: "name"))
    var platform: EnvelopePlatform

    @Option(
        help: ArgumentHelp(
            "silent wakes the app, alert shows the message.", valueName: "style"))
    var style = EnvelopeStyle.silent

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        try StandardOutput.writeLine(try connection.envelope(id, platform, style: style).bytes)
    }
}
