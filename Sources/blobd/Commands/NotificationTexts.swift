public import ArgumentParser
public import BlobClient
import BlobJSON
import BlobProtocol
import Notifications

// What the commands for notifications read from the command line besides plain texts.

extension NotificationRecord.Priority: ExpressibleByArgument {}
extension NotificationRecord.ActionState: ExpressibleByArgument {}
extension NotificationFilter.Status: ExpressibleByArgument {}
extension NotificationRecord.ContentExtensionAnswer: ExpressibleByArgument {}
extension NotificationCategory.Option: ExpressibleByArgument {}
extension EnvelopePlatform: ExpressibleByArgument {}
extension EnvelopeStyle: ExpressibleByArgument {}

/// JSON on the command line and in documents.
enum JSONTexts {
    /// A value given to an option. Refuses what is not JSON.
    static func value(_ text: String, of option: String) throws -> JSONValue {
        let bytes = Array(text.utf8)
        do throws(JSONError) {
            return try JSONValue.parse(bytes.span.bytes)
        } catch {
            throw ValidationError("\(option) is not JSON: \(error)")
        }
    }

    /// The buttons given to `--actions`: an array of objects with `identifier`, `title`, and the
    /// booleans `foreground`, `destructive` and `authentication_required`. How many there may be,
    /// and how long, is for the daemon to say.
    static func actions(_ text: String) throws -> [NotificationRecord.Action] {
        guard case .array(let elements) = try value(text, of: "--actions") else {
            throw ValidationError("--actions is not an array of actions")
        }
        return try elements.map(action)
    }

    private static func action(_ value: JSONValue) throws -> NotificationRecord.Action {
        guard case .object(let members) = value else {
            throw ValidationError("--actions has an element that is not an object")
        }
        var identifier: String?
        var title: String?
        var action = NotificationRecord.Action(identifier: "", title: "")
        for member in members {
            switch (member.name, member.value) {
            case ("identifier", .string(let text)): identifier = text
            case ("title", .string(let text)): title = text
            case ("foreground", .bool(let flag)): action.isForeground = flag
            case ("destructive", .bool(let flag)): action.isDestructive = flag
            case ("authentication_required", .bool(let flag)): action.requiresAuthentication = flag
            default:
                throw ValidationError(
                    "--actions has the member \(member.name) of \(minified(member.value)): an action "
                        + "has the strings identifier and title, and the booleans foreground, "
                        + "destructive and authentication_required")
            }
        }
        guard let identifier, let title else {
            throw ValidationError("--actions has an action without identifier or title")
        }
        action.identifier = identifier
        action.title = title
        return action
    }

    /// The elements of an array in a document of the daemon's, each in a line of its own.
    static func lines(_ name: String, in document: [UInt8]) throws -> [String] {
        guard case .array(let elements) = answer(document)?[name] else {
            throw CommandFailure(.refused, "the daemon's answer has no array '\(name)'")
        }
        return elements.map { minified($0) + "\n" }
    }

    /// A text of the daemon's answer; nil when there is none of that name.
    static func text(_ name: String, in document: [UInt8]) throws -> String? {
        guard case .string(let text) = answer(document)?[name] else { return nil }
        return text
    }

    /// A document of the daemon's.
    static func value(_ document: [UInt8]) throws(CommandFailure) -> JSONValue {
        guard let value = answer(document) else {
            throw CommandFailure(.refused, "it is not JSON")
        }
        return value
    }

    private static func answer(_ document: [UInt8]) -> JSONValue? {
        var limits = JSONLimits()
        limits.byteCountMax = BlobConnection.documentByteCountMax
        limits.memberCountMax = .max
        // Data may be as deep as the limit, and lies within a record.
        limits.depthMax += 16
        return try? JSONValue.parse(document.span.bytes, limits: limits)
    }

    private static func minified(_ value: JSONValue) -> String {
        var bytes: [UInt8] = []
        value.append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

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

    /// A path and a media type behind its last colon, if what stands there is one.
    private static func split(_ text: String) -> (path: String, mediaType: String?) {
        guard let colon = text.lastIndex(of: ":") else { return (text, nil) }
        let type = String(text[text.index(after: colon)...])
        let bytes = Array(type.utf8)
        guard (try? TextKind.mediaType.check(bytes.span.bytes)) != nil else { return (text, nil) }
        return (String(text[..<colon]), type)
    }

    /// Refuses what was meant to be a digest and is none. A file of such a name is `./sha256:…`.
    func check() throws {
        guard case .file(let path, _) = source, path.hasPrefix("sha256:") else { return }
        throw ValidationError(
            "--part \(name)=\(path) is not a digest: sha256: and 64 hexadecimal digits (0-9a-f)")
    }

    /// The part with its bytes.
    func part(byteCountMax: UInt64) throws -> NotificationUpload.Part {
        switch source {
        case .stored(let digest): return .init(name: name, .stored(digest))
        case .file(let path, let mediaType):
            let file = try PayloadFile(path, byteCountMax: byteCountMax)
            guard file.byteCount <= byteCountMax else {
                throw CommandFailure(
                    .refused,
                    "\(path) is \(file.byteCount) bytes long; the daemon's limit is \(byteCountMax)"
                )
            }
            return .init(
                name: name, mediaType: mediaType ?? MediaTypes.suggested(by: path),
                .bytes(try file.readAll()))
        }
    }
}

/// How long a notification lives, as `put` and `publish` take it.
struct LifetimeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The TTL: 90, 90s, 15m, 24h, 30d.", valueName: "time"))
    var ttl: String?

    @Option(help: ArgumentHelp("The expiry: 2026-12-01T00:00:00Z.", valueName: "time"))
    var expiresAt: String?

    func validate() throws {
        guard ttl == nil || expiresAt == nil else {
            throw ValidationError("--ttl and --expires-at exclude each other: give one of them")
        }
        _ = try lifetime()
    }

    func lifetime() throws -> PutRequest.Lifetime {
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
