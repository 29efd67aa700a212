import ArgumentParser
import BlobClient

struct EnvelopeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "envelope",
        abstract: "Print the push to send for a notification.",
        discussion: """
            The push contains the notification's id, not its payload: the device fetches the payload.

            A silent push (the default, except for webpush) shows nothing: it wakes the app, which fetches the payload and shows \
            the notification. Systems delay or drop silent pushes, and iOS does not start an app that its \
            user has quit. An alert is shown by the system even if the app is not running; the app may fetch \
            the payload first (iOS: a notification service extension). Browsers accept only alerts.

            Send the push unchanged. FCM expects the device in the push (--token), the others in \
            the request's URL. A push for webpush is the plain text, which the sender's library encrypts for the \
            browser; with --navigate, Safari shows it even if no service worker runs. --headers prints the push as the string body of an object, with media_type and \
            the headers for the provider.

              blobd envelope 42 --platform apns
              blobd envelope 42 --platform apns --style alert
              blobd envelope 42 --platform fcm --token "$TOKEN" | curl --json @- ...
              blobd envelope 42 --platform webpush --navigate https://example.com/inbox
              blobd envelope 42 --platform apns --headers | jq -r '.headers["apns-expiration"]'
            """)

    @Argument(help: .named("id", "The notification's id."))
    var id: String

    @Option(help: .named("name", "The push service."))
    var platform: EnvelopePlatform

    @Option(
        help: .named(
            "style",
            "silent wakes the app; the system shows an alert. Default: silent; for webpush, alert.")
    )
    var style: EnvelopeStyle?

    @Option(help: .named("token", "The device's registration token, for fcm."))
    var token: String?

    @Option(help: .named("url", "The page that a click opens, for webpush."))
    var navigate: String?

    @Flag(help: "Print the push and its headers as a JSON object.")
    var headers = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try require(
            token == nil || platform == .fcm,
            "--token is for --platform fcm: the request to \(platform.rawValue) names the device in its URL"
        )
        try require(
            navigate == nil || platform == .webpush,
            "--navigate is for --platform webpush, not for \(platform.rawValue)")
    }

    func run() throws {
        var connection = try socket.connect()
        let call = try DaemonCall.envelope(id, platform, style: style, token: token, page: navigate)
        let answer = try connection.answer(to: call)
        try StandardOutput.writeLine(headers ? answer.body : try call.read(answer).bytes)
    }
}
