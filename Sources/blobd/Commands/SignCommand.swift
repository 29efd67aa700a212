import ArgumentParser
import BlobProtocol
import BlobServer
import FoundationEssentials
import Glibc
import Notifications

struct SignCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Make a link with which a device fetches without a backend.",
        discussion: """
            Prints the path and query of the link; --base prepends the address of your site. Anyone who has \
            the link may fetch until it expires. No daemon is needed.

              blobd sign --new-key keys --key-id 2026a
              blobd sign 42 --signing-keys keys --ttl 1h
              blobd sign 42 --part sound --signing-keys keys --base https://push.example.com
              blobd sign --changes ann --signing-keys keys --ttl 30d

            --new-key never replaces a file. To rotate keys, put the new key's line before the old ones and \
            reload the daemon: the first key signs, all of them verify.
            """)

    @Argument(help: .named("id", "The notification's id."))
    var id: String?

    @Option(help: .named("name", "The part's name. Default: payload."))
    var part: String?

    @Option(help: .named("owner", "Link to this user's changes instead."))
    var changes: String?

    @Option(help: .named("time", "The link's lifetime."))
    var ttl: DurationText = DurationText(seconds: 3_600)

    @Option(help: .named("file", SigningKeyFile.commandHelp), completion: .file())
    var signingKeys: String?

    @Option(
        help: .named("file", "Create this file with a new key and the mode 0600."),
        completion: .file())
    var newKey: String?

    @Option(
        help: .named("id", "The id of the new key. Default: today's date."))
    var keyID: String?

    @Option(help: .named("url", "The address in front of the link."))
    var base: String?

    @Flag(help: "Print the link and its expiry as JSON.")
    var json = false

    func validate() throws {
        guard newKey == nil else {
            let others = [id, part, changes, signingKeys, base]
            try require(
                others.allSatisfy({ $0 == nil }), "--new-key allows only --key-id and --json")
            return
        }
        try require(keyID == nil, "--key-id needs --new-key")
        try require((id == nil) != (changes == nil), "Give an id, or --changes with an owner")
        try require(changes == nil || part == nil, "--part needs an id")
        try require(ttl.milliseconds >= 1_000, "--ttl must be at least 1s")
    }

    func run() throws {
        if let newKey {
            let today = CommandLineText.text(milliseconds: wallClockMilliseconds()).prefix(10)
            let id = keyID ?? String(today)
            try NewSigningKey.make(newKey, id: id)
            return try StandardOutput.write(
                json
                    ? try JSONLine.object(["path": newKey, "key_id": id])
                    : "created \(newKey)  key \(id)\n")
        }
        let keys = try SigningKeyFile.ofCommand(signingKeys)
        let target = try target()
        let expiry = ttl.endSeconds
        let link = try signing { () throws(ProtocolError) in
            (base ?? "") + (try SignedLink(to: target, expiresAt: expiry, keys: keys)).text
        }
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "link": link,
                    "expires_at": CommandLineText.text(milliseconds: expiry * 1_000),
                ])
                : link + "\n")
    }
}

extension SignCommand {
    private func target() throws(CommandFailure) -> SignedLink.Target {
        do throws(ProtocolError) {
            if let changes { return .changes(owner: try OwnerID(onWire: changes).text) }
            let id = try NotificationID(onWire: id ?? "").text
            guard let part else { return .payload(id: id) }
            return .part(id: id, name: try PartName(onWire: part).text)
        } catch {
            throw CommandFailure(.badUsage, error.detail)
        }
    }
}

extension DurationText {
    /// When a lifetime that begins now ends, in seconds since 1970.
    var endSeconds: Int64 {
        let (end, isOver) = wallClockMilliseconds().addingReportingOverflow(Int64(milliseconds))
        return (isOver ? .max : end) / 1_000
    }
}

/// A link or token that is signed.
func signing<Signed>(
    _ sign: () throws(ProtocolError) -> Signed
) throws(CommandFailure) -> Signed {
    do throws(ProtocolError) {
        return try sign()
    } catch {
        throw CommandFailure(.badUsage, "--ttl: \(error.detail)")
    }
}

extension SigningKeyFile {
    static let commandHelp: String =
        "The key file; its first key signs. Default: BLOBD_SIGNING_KEYS, or that of \(ServeConfiguration.defaultPath)."

    /// The keys of a command, from the file of its option or of the daemon's settings.
    static func ofCommand(_ option: String?) throws(CommandFailure) -> SigningKeys {
        let environment = ProcessInfo.processInfo.environment
        guard
            let path = option
                ?? DaemonSetting.text("signing-keys", "BLOBD_SIGNING_KEYS", in: environment)
        else { throw CommandFailure(.badUsage, "no keys: use --signing-keys FILE") }
        do { return try read(path) } catch { throw CommandFailure(.badUsage, "\(error)") }
    }
}

enum NewSigningKey {
    /// Creates the file, complete and synced. Never replaces an existing file, and never prints the key.
    static func make(_ path: String, id: String) throws(CommandFailure) {
        // The kernel's generator (`getrandom`).
        var generator = SystemRandomNumberGenerator()
        let key = (0..<SigningKeys.keyByteCountRange.lowerBound).map { _ in
            UInt8.random(in: .min ... .max, using: &generator)
        }
        let line = Array("\(id) \(Data(key).base64EncodedString())\n".utf8)
        let keys: SigningKeys?
        do throws(SigningKeyError) {
            keys = try SigningKeys(parsing: line)
        } catch {
            throw CommandFailure(.badUsage, "--key-id '\(HumanText.line(id))': \(error)")
        }
        // An id with a line end would make two keys.
        guard keys?.ids == [id] else {
            throw CommandFailure(.badUsage, "--key-id '\(HumanText.line(id))' is not an id")
        }
        let file = try NewFile(path, isNew: true, mode: 0o600)
        try file.write(line.span.bytes)
        try file.keepNew()
    }
}
