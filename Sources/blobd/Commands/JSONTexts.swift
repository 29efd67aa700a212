import ArgumentParser
import BlobClient
import BlobJSON
import BlobProtocol
import Notifications

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
        do throws(ProtocolError) {
            return try NotificationAction.list(elements, "--actions")
        } catch {
            throw ValidationError(error.detail)
        }
    }

    static func lines(_ name: String, in document: [UInt8]) throws -> [String] {
        guard case .array(let elements) = try value(document)[name] else {
            throw CommandFailure(.refused, "the daemon's answer contains no array '\(name)'")
        }
        return elements.map { element in
            var bytes: [UInt8] = []
            element.append(to: &bytes)
            return String(decoding: bytes, as: UTF8.self) + "\n"
        }
    }

    static func value(_ document: [UInt8]) throws(CommandFailure) -> JSONValue {
        let value = try? JSONValue.parse(document.span.bytes, limits: .ofAnswers)
        guard let value else { throw CommandFailure(.refused, "it is not JSON") }
        return value
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
