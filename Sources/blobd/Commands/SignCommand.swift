import ArgumentParser
import BlobProtocol
import BlobServer
import FoundationEssentials
import Glibc
import Notifications

/// `blobd sign`: makes a signed link.
struct SignCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Make a link with which a device fetches without a backend.",
        discussion: """
            Prints the path and query of the link; --base puts the address of your site in front. The link \
            is valid until its time is over. Anyone who has it may fetch. No daemon is needed.

              blobd sign --new-key keys --key-id 2026a
              blobd sign 42 --signing-keys keys --ttl 1h
              blobd sign 42 --part sound --signing-keys keys --base https://push.example.com
              blobd sign --changes ann --signing-keys keys --ttl 30d

            --new-key makes a file with one new key, which only its owner may read, and never replaces a file. To \
            change keys, put the line of the new key before those of the old ones, and reload the daemon: the first \
            key signs, all verify.

            Other languages make the same in three lines: the signature is the unpadded base64url of \
            HMAC-SHA-256 over "GET", the path, the expiry in seconds since 1970 and the key's id, joined by \
            line feeds.
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The part's name. Default: payload.", valueName: "name"))
    var part: String?

    @Option(help: ArgumentHelp("Link to this user's changes instead.", valueName: "owner"))
    var changes: String?

    @Option(help: ArgumentHelp("How long the link is valid.", valueName: "time"))
    var ttl: DurationText = DurationText(seconds: 3_600)

    @Option(
        help: ArgumentHelp(
            "The file of keys, of which the first signs. Default: the environment variable BLOBD_SIGNING_KEYS.",
            valueName: "file"))
    var signingKeys: String?

    @Option(
        help: ArgumentHelp(
            "Make this file with a new key instead, with the mode 0600.", valueName: "file"),
        completion: .file())
    var newKey: String?

    @Option(
        help: ArgumentHelp(
            "The id of the new key, which is in every link. Default: today's date.",
            valueName: "id"))
    var keyID: String?

    @Option(help: ArgumentHelp("The address in front of the link.", valueName: "url"))
    var base: String?

    @Flag(help: "Print the link and its expiry as JSON.")
    var json = false

    func validate() throws {
        guard newKey == nil else {
            let others = [id, part, changes, signingKeys, base]
            guard others.allSatisfy({ $0 == nil }) else {
                throw ValidationError("--new-key allows only --key-id and --json")
            }
            return
        }
        guard keyID == nil else { throw ValidationError("--key-id goes with --new-key") }
        guard (id == nil) != (changes == nil) else {
            throw ValidationError("Give an id, or --changes with an owner")
        }
        guard changes == nil || part == nil else {
            throw ValidationError("--part goes with an id")
        }
        guard ttl.milliseconds >= 1_000 else { throw ValidationError("--ttl is under 1s") }
    }

    func run() throws {
        if let newKey {
            let today = CommandLineText.text(milliseconds: wallClockMilliseconds()).prefix(10)
            let id = keyID ?? String(today)
            try NewSigningKey.make(newKey, id: id)
            return try StandardOutput.write(
                json
                    ? try JSONLine.text(NewKeyDocument(path: newKey, keyID: id))
                    : "created \(newKey)  key \(id)\n")
        }
        guard let path = signingKeys ?? getenv("BLOBD_SIGNING_KEYS").map({ String(cString: $0) })
        else { throw CommandFailure(.badUsage, "no keys: use --signing-keys FILE") }
        let keys: SigningKeys
        do { keys = try SigningKeyFile.read(path) } catch {
            throw CommandFailure(.badUsage, "\(error)")
        }
        let target = try target()
        let now = wallClockMilliseconds()
        let expiry = (now + Int64(ttl.milliseconds)) / 1_000
        let link = (base ?? "") + SignedLink(to: target, expiresAt: expiry, keys: keys).text
        try StandardOutput.write(
            json
                ? try JSONLine.text(
                    LinkDocument(
                        link: link, expiresAt: CommandLineText.text(milliseconds: expiry * 1_000)))
                : link + "\n")
    }
}

extension SignCommand {
    /// What the link is to, once its names are checked.
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

/// What `--new-key --json` prints.
private struct NewKeyDocument: Encodable {
    var path: String
    var keyID: String
}

/// What `--json` prints.
private struct LinkDocument: Encodable {
    var link: String
    var expiresAt: String
}

/// A new key of links, in a file of its own.
enum NewSigningKey {
    /// Makes the file, whole and synced, or none. What exists is never replaced. Nothing says anything of the key.
    static func make(_ path: String, id: String) throws(CommandFailure) {
        // The system's generator is the kernel's (`getrandom`).
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
        // A line end would make it two keys.
        guard keys?.ids == [id] else {
            throw CommandFailure(.badUsage, "--key-id '\(HumanText.line(id))' is not an id")
        }
        let file = try NewFile(path, isNew: true, mode: 0o600)
        try file.write(line.span.bytes)
        try file.keepNew()
    }
}
