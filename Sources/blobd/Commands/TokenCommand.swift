public import ArgumentParser
public import BlobProtocol
import BlobServer
import Notifications

/// `blobd token`: creates a device's token.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Make a token with which a device acts for its user without a backend.",
        discussion: """
            Prints a JSON Web Token, which the device sends as "Authorization: Bearer TOKEN" to the paths \
            under /d/me/. Anyone who has the token may read the user's notifications and changes and, with \
            --scope write, mark notifications and respond. No daemon is needed.

              blobd token ann --signing-keys keys --ttl 30d --scope write --device phone
            """)

    @Argument(help: .named("owner", "The user whose notifications the device may see."))
    var owner: String

    @Option(help: .named("time", "The token's lifetime."))
    var ttl: DurationText = DurationText(seconds: 3_600)

    @Option(help: .named("scope", "read, or write, which includes read."))
    var scope: DeviceToken.Scope = .read

    @Option(help: .named("name", "The device's name in its changes."))
    var device: String?

    @Option(help: .named("name", "Restrict the token to the notifications of this app."))
    var app: String?

    @Option(help: .named("file", SigningKeyFile.commandHelp), completion: .file())
    var signingKeys: String?

    @Flag(help: "Print the token and its expiry as JSON.")
    var json = false

    func validate() throws {
        try require(ttl.milliseconds >= 1_000, "--ttl must be at least 1s")
    }

    func run() throws {
        let keys = try SigningKeyFile.ofCommand(signingKeys)
        do throws(ProtocolError) {
            _ = try OwnerID(onWire: owner)
            if let device { _ = try DeviceName(onWire: device) }
            if let app { _ = try AppName(onWire: app) }
        } catch {
            throw CommandFailure(.badUsage, error.detail)
        }
        let expiry = ttl.endSeconds
        let made = DeviceToken(
            owner: owner, device: device, app: app, scope: scope, expiresAt: expiry)
        let token = try signing { () throws(ProtocolError) in try made.text(keys: keys) }
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "token": token,
                    "expires_at": CommandLineText.text(milliseconds: expiry * 1_000),
                ])
                : token + "\n")
    }
}

extension DeviceToken.Scope: ExpressibleByArgument {
    /// Also the words of a token, `read write`. Unlike there, others are refused.
    public init?(argument: String) {
        let words = argument.split(separator: " ")
        guard words.allSatisfy({ Self(rawValue: String($0)) != nil }) else { return nil }
        self.init(words: argument)
    }
}
