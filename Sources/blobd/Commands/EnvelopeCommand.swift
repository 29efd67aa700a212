import ArgumentParser
import BlobClient

/// `blobd envelope`: renders the push for a notification.
struct EnvelopeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "envelope",
        abstract: "Print the push to send for a notification.",
        discussion: """
            The push has the notification's id, not its payload: the device fetches the payload. A \
            push over the provider's size limit is refused. Add the device token or topic yourself. \
            --headers prints an object with media_type, headers (priority and expiry for the request \
            to the provider) and body (the push as a string; send it unchanged).

              blobd envelope 42 --platform apns
              blobd envelope 42 --platform apns --style alert
              blobd envelope 42 --platform fcm | jq .message
              blobd envelope 42 --platform apns --headers | jq -r '.headers["apns-expiration"]'
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String

    @Option(help: ArgumentHelp("The push service.", valueName: "name"))
    var platform: EnvelopePlatform

    @Option(
        help: ArgumentHelp(
            "silent wakes the app; alert shows the message.", valueName: "style"))
    var style = EnvelopeStyle.silent

    @Flag(help: "Print the push and its headers as a JSON object.")
    var headers = false

    @OptionGroup var socket: SocketOptions

    func run() throws {
        var connection = try socket.connect()
        let document = try connection.envelopeDocument(id, platform, style: style)
        try StandardOutput.writeLine(
            headers ? document : try RenderedEnvelope(document: document).bytes)
    }
}
