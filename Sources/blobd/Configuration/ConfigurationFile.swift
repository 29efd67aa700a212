import BlobServer

struct ConfigurationError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The YAML file of a configuration: one value for each key, and each key is the name of a setting.
struct ConfigurationFile {
    static let byteCountMax = 1 << 20

    let path: String
    /// Whether the file has nothing, not even a comment.
    let isEmpty: Bool
    private let entries: [String: YAMLEntries.Entry]

    /// - Throws: what is wrong with it: it cannot be read, is no YAML, has a key that is no setting or is
    ///   given twice.
    init(reading path: String) throws(ConfigurationError) {
        self.path = path
        let bytes: [UInt8]
        do throws(SmallFile.Failure) {
            bytes = try SmallFile.read(path, byteCountMax: Self.byteCountMax)
        } catch {
            throw ConfigurationError("\(path): \(error.reason)")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw ConfigurationError("\(path): is not UTF-8")
        }
        isEmpty = bytes.allSatisfy { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: " ") }
        let parsed: YAMLEntries
        do throws(YAMLEntries.Failure) {
            parsed = try YAMLEntries(parsing: bytes)
        } catch {
            throw ConfigurationError("\(path):\(error.line): \(error.reason)")
        }
        var entries: [String: YAMLEntries.Entry] = [:]
        for entry in parsed.entries {
            func refuse(_ reason: String) -> ConfigurationError {
                ConfigurationError("\(path):\(entry.line): \(entry.key) \(reason)")
            }
            guard Setting.named[entry.key] != nil else {
                throw refuse("is not a setting" + NearestWord.hint(entry.key, Setting.named.keys))
            }
            if let first = entries[entry.key] {
                throw refuse("is given twice, first in line \(first.line)")
            }
            entries[entry.key] = entry
        }
        self.entries = entries
    }

    func text(of name: String) -> String? {
        guard case .text(let text)? = entries[name]?.value, !text.isEmpty else { return nil }
        return text
    }

    /// What the file gives for a setting, and in which line; nil: nothing.
    ///
    /// - Throws: if a value has the wrong shape, such as a list where one text is expected.
    func given(
        _ setting: Setting
    ) throws(ConfigurationError) -> (texts: [String], line: Int)? {
        guard let entry = entries[setting.name] else { return nil }
        let found: String
        switch entry.value {
        case .text(let text): return ([text], entry.line)
        case .list(let texts) where setting.kind == .list: return (texts, entry.line)
        case .list: found = "a list"
        case .nothing: found = "empty"
        case .other(let words): found = words
        }
        throw ConfigurationError(
            "\(path):\(entry.line): \(setting.name) is \(found); it must be \(setting.expected)")
    }
}
