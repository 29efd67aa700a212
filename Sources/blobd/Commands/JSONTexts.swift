import ArgumentParser
import BlobClient
import BlobJSON

enum JSONTexts {
    static func value(_ text: String, of option: String) throws -> JSONValue {
        let bytes = Array(text.utf8)
        do throws(JSONError) {
            return try JSONValue.parse(bytes.span.bytes)
        } catch {
            throw ValidationError("\(option) is not JSON: \(error)")
        }
    }

    /// The buttons given to `--actions`. The daemon checks the limits.
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

    static func lines(_ name: String, in document: [UInt8]) throws -> [String] {
        guard case .array(let elements) = (try? JSONValue.parse(answer: document))?[name] else {
            throw CommandFailure(.refused, "the daemon's answer has no array '\(name)'")
        }
        return elements.map { minified($0) + "\n" }
    }

    static func value(_ document: [UInt8]) throws(CommandFailure) -> JSONValue {
        guard let value = try? JSONValue.parse(answer: document) else {
            throw CommandFailure(.refused, "it is not JSON")
        }
        return value
    }

    private static func minified(_ value: JSONValue) -> String {
        var bytes: [UInt8] = []
        value.append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONValue {
    func elements(_ name: String) -> [JSONValue] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements
    }

    func text(_ name: String) -> String? {
        guard case .string(let text)? = self[name] else { return nil }
        return text
    }
}
