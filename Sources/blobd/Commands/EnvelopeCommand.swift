import ArgumentParser
import BlobClient

/// `blobd envelope`: renders the push for a notification.
struct EnvelopeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "envelope",
        abstract: "Print the push to send for a notification.",
        discussion: """
            It has the notification's id and never its payload: the device fetches that. What would be \
            longer than the provider takes is refused. Token or topic are the sender's to add. With \
            --headers it comes as an object with media_type, headers (what the request to the \
            provider says of priority and of how long to try) and body, a text to be sent as it is.

              blobd envelope 42 --platform apns
              blobd envelope 42 --platform apns --style alert
              blobd envelope 42 --platform fcm | jq .message
              blobd envelope 42 --platform apns --headers | jq -r '.headers["apns-expiration"]'
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String

    @Option(help: ArgumentHelp("Whose push service.", valueName: "name"))
    var platform: EnvelopePlatform

    @Option(
        help: ArgumentHelp(
            "silent wakes the app, alert shows the message.", valueName: "style"))
    var style = EnvelopeStyle.silent

    @Flag(help: "Print what goes with it as well, as a JSON object.")
    var headers = false

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        let document = try connection.envelopeDocument(id, platform, style: style)
        try StandardOutput.writeLine(
            headers ? document : try RenderedEnvelope(document: document).bytes)
    }
}
