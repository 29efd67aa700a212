public import ArgumentParser
public import BlobClient
import BlobProtocol
import FoundationEssentials
public import Notifications

extension ExpressibleByArgument where Self: NamedValue & RawRepresentable, RawValue == UInt8 {
    /// The value with this name.
    public init?(argument: String) { self.init(name: argument) }
    /// All names.
    public static var allValueStrings: [String] { allCases.map(\.name) }
    /// Empty: the names need no description.
    public static var allValueDescriptions: [String: String] { [:] }
    /// The name.
    public var defaultValueDescription: String { name }
}

extension NotificationPriority: ExpressibleByArgument {}
extension ActionState: ExpressibleByArgument {}
extension ContentExtensionAnswer: ExpressibleByArgument {}
extension NotificationFilter.Status: ExpressibleByArgument {}
extension NotificationCategory.Option: ExpressibleByArgument {}
extension EnvelopePlatform: ExpressibleByArgument {}
extension EnvelopeStyle: ExpressibleByArgument {}

/// A part on the command line: `NAME=FILE`, `NAME=FILE:MEDIA/TYPE`, or `NAME=sha256:…`.
struct PartText: ExpressibleByArgument, Equatable {
    enum Source: Equatable {
        case file(String, mediaType: String?)
        case stored(PayloadDigest)
    }

    let name: String
    let source: Source

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "=") else { return nil }
        name = String(argument[..<sign])
        let text = String(argument[argument.index(after: sign)...])
        guard !name.isEmpty, !text.isEmpty else { return nil }
        if let digest = PayloadDigest(text) {
            source = .stored(digest)
        } else {
            let (path, mediaType) = Self.split(text)
            guard !path.isEmpty else { return nil }
            source = .file(path, mediaType: mediaType)
        }
    }

    private static func split(_ text: String) -> (path: String, mediaType: String?) {
        guard let colon = text.lastIndex(of: ":") else { return (text, nil) }
        let type = String(text[text.index(after: colon)...])
        let bytes = Array(type.utf8)
        guard (try? TextKind.mediaType.check(bytes.span.bytes)) != nil else { return (text, nil) }
        return (String(text[..<colon]), type)
    }

    /// What the shell may complete: the files after `NAME=`.
    static func completions(of typed: String) -> [String] {
        guard let sign = typed.firstIndex(of: "=") else { return [] }
        let path = typed[typed.index(after: sign)...]
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let (folder, name) = (path[..<start], path[start...])
        let names = try? FileManager.default.contentsOfDirectory(
            atPath: folder.isEmpty ? "." : String(folder))
        return (names ?? []).filter { $0.hasPrefix(name) && ($0.first != "." || name.first == ".") }
            .sorted().map { typed[...sign] + folder + $0 }
    }

    /// Refuses an invalid digest. A file of such a name is `./sha256:…`.
    func check() throws {
        guard case .file(let path, _) = source, path.hasPrefix("sha256:") else { return }
        throw ValidationError(
            "--part \(name)=\(path) is not a digest: sha256: and 64 hexadecimal digits (0-9a-f)")
    }

    func part(byteCountMax: UInt64) throws -> NotificationUpload.Part {
        switch source {
        case .stored(let digest): return .init(name: name, .stored(digest))
        case .file(let path, let mediaType):
            return .init(
                name: name, mediaType: mediaType ?? MediaTypes.suggested(by: path),
                .bytes(try InputFile.bytes(of: path, .payload(byteCountMax))))
        }
    }

    /// What a user should know of the type that the part is stored with; nil: nothing.
    func note(on part: NotificationUpload.Part) -> String? {
        guard case .file(let path, nil) = source, case .bytes(let bytes) = part.content else {
            return nil
        }
        return MediaTypes.note(path == "-" ? nil : path, start: bytes.span.bytes) {
            "--part \(name)=\(path):\($0)"
        }
    }
}

struct TextOptions: ParsableArguments {
    @Option(help: .named("text", "The title."))
    var title: String?

    @Option(help: .named("text", "The message."))
    var message: String?

    @Option(help: .named("kind", "The rich type, such as img."))
    var richType: String?

    @Option(help: .named("user", "The user it belongs to."))
    var owner: String?

    @Option(help: .named("name", "The app it is for."))
    var app: String?

    @Option(help: .named("profile", "Refuse parts that these devices do not show: ios or android."))
    var profile: String?

    var isEmpty: Bool {
        [title, message, richType, owner, app, profile].allSatisfy { $0 == nil }
    }
}

struct LifetimeOptions: ParsableArguments {
    @Option(help: .named("time", "The TTL: 90, 90s, 15m, 24h, 30d."))
    var ttl: String?

    @Option(help: .named("time", "The expiry: 2026-12-01T00:00:00Z."))
    var expiresAt: String?

    func validate() throws {
        try require(
            ttl == nil || expiresAt == nil,
            "--ttl and --expires-at cannot be used together")
        _ = try lifetime()
    }

    func lifetime() throws -> Lifetime {
        if let ttl {
            guard let seconds = CommandLineText.seconds(ttl) else {
                throw ValidationError(
                    "--ttl '\(ttl)' is not a TTL: give whole seconds, at least 1, "
                        + "or a number with s, m, h or d, such as 90, 15m, 24h, 30d")
            }
            return .seconds(seconds)
        }
        guard let expiresAt else { return .standard }
        do {
            return .until(milliseconds: try CommandLineText.time(expiresAt))
        } catch {
            throw ValidationError(
                "--expires-at '\(expiresAt)' is not a time: "
                    + "write it like 2026-12-01T00:00:00Z or 2026-12-01T00:00:00+01:00")
        }
    }
}

struct FilterOptions: ParsableArguments {
    @Option(help: .named("name", "Only notifications of this app."))
    var app: String?

    @Flag(help: "Only read notifications.")
    var read = false

    @Flag(help: "Only unread notifications.")
    var unread = false

    @Option(help: .named("state", "Only notifications with this action state."))
    var state: NotificationRecord.ActionState?

    @Option(help: .named("name", "Only notifications of this group."))
    var group: String?

    @Option(help: .named("name", "Only notifications for this platform, or for all."))
    var platform: String?

    @Option(help: .named("host", "Only notifications for this host, or for all."))
    var targetHost: String?

    @Option(
        help: .named(
            "status",
            "active: existing notifications. deleted: remembered deletions and expiries; the only other filter is --app."
        ))
    var status: NotificationFilter.Status?

    func validate() throws {
        try require(!(read && unread), "--read and --unread cannot be used together")
    }

    var filter: NotificationFilter {
        var filter = NotificationFilter(
            app: app, isRead: read ? true : unread ? false : nil, actionState: state,
            group: group, platform: platform, targetHost: targetHost)
        filter.status = status
        return filter
    }
}
